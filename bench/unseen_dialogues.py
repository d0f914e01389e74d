"""Generated dialogues that were not looked at while the default summarizer was developed."""

from typing import Any

from dialogue_world import LAST, PLACES, TOPICS, Call, Dialogue, World


def hotels(w: World) -> Dialogue:
    """Booking services with long opaque tokens."""
    calls = []
    for _ in range(w.randrange(1, 6)):
        place = w.choice(PLACES)
        dest = {"dest_id": "-" + w.number(8), "label": f"{place}, USA", "search_type": "city"}
        found = {"status": True, "data": [dest, {**dest, "dest_id": "-" + w.number(8)}]}
        calls.append(Call("search_destination", {"query": place}, found))
        stay = {"arrival_date": w.date(), "departure_date": w.date()}
        hotels_found = [_hotel(w) for _ in range(w.randrange(3, 21))]
        args = {"dest_id": dest["dest_id"], "search_type": "city", **stay, "adults": 2}
        calls.append(Call("search_hotels", args, {"data": {"hotels": hotels_found}}))
        hotel = w.choice(hotels_found)
        rooms = {w.number(9): {"token": w.token(w.randrange(100, 450)), "beds": [{"type": "king"}]}}
        rooms |= {w.number(9): {"token": w.token(200), "beds": [{"type": "twin"}]}}
        args = {"hotel_id": hotel["hotel_id"], **stay}
        calls.append(Call("room_list", args, {"data": {"rooms": rooms}}))
        room = w.choice(list(rooms))
        guests = [w.person() for _ in range(2)]
        args = {"token": rooms[room]["token"], "room_ids": [room], "guests": guests} | {
            "price": hotel["property"]["price"]
        }
        calls.append(Call("book_room", args, {"booking": {"pin": w.number(4), "no": w.code(9)}}))
        if w.random() < 0.5:
            args = {"guests": guests, "coordinates": hotel["property"]["geo"]}
            calls.append(Call("book_taxi", args, "Taxi booked: " + w.code(5)))
    return Dialogue("hotels", f"Book rooms and taxis from {calls[1].args['arrival_date']}.", calls)


def _hotel(w: World) -> dict[str, Any]:
    price = {"currency": "USD", "value": w.price(), "strikethrough": {"value": w.price()}}
    geo = {"latitude": w.randrange(10**7) / 10**5, "longitude": -w.randrange(10**7) / 10**5}
    inside = {"name": f"Hotel {w.choice(LAST)} {w.randrange(99)}", "price": price, "geo": geo}
    photos = [f"https://photos.example.com/{w.token(30)}.jpg" for _ in range(3)]
    label = w.text(w.randrange(150, 400))
    return {"hotel_id": w.randrange(10**7), "label": label, "property": inside | {"photos": photos}}


def clients(w: World) -> Dialogue:
    """Clients whose contacts and deals are merged and sent back."""
    ids = [f"acc_{w.token(8)}" for _ in range(w.randrange(2, 8))]
    calls = [Call("list_accounts", {"owner": w.user()}, {"ids": ids, "has_more": False})]
    for number in ids:
        contacts = [{**w.person(), "email": w.mail(), "phone": f"+1-{w.number(3)}-{w.number(7)}"}]
        contacts += [{**w.person(), "email": w.mail()} for _ in range(w.randrange(3))]
        deals = {f"deal-{w.number(5)}": {"stage": w.choice(TOPICS), "worth": w.price()}}
        account = {"id": number, "name": f"{w.choice(LAST)} & {w.choice(LAST)} Ltd."} | {
            "contacts": contacts,
            "deals": deals,
            "tags": w.sample(TOPICS, 3),
            "summary": w.text(w.randrange(80, 480)),
        }
        calls.append(Call("get_account", {"account_id": number}, account))
    accounts = [call.result for call in calls[1:]]
    for _ in range(w.randrange(2, 10)):
        one, two = w.sample(accounts, 2)
        both = one["contacts"] + two["contacts"]
        args = {"into": one["id"], "from": two["id"], "contacts": both, "deals": two["deals"]}
        calls.append(Call("merge_accounts", args, f"Merged {two['id']} into {one['id']}."))
        args = {"account_id": one["id"], "name": one["name"], "text": two["summary"]}
        calls.append(Call("add_note", args, {"note": {"id": w.number(6), "at": w.time()}}))
    return Dialogue("clients", "Merge the accounts that belong together.", calls)


FAMILIES = (hotels, clients)
