"""Generated tool-use dialogues with nested results, on which the default summarizer was developed."""

import json
from collections.abc import Callable, Iterator
from typing import Any

from dialogue_world import AIRPORTS, LAST, PLACES, TOPICS, WARES, WORDS, Call, Dialogue, World


def airline(w: World) -> Dialogue:
    """Reservations with legs, passengers and payments, which are sent back with changes."""
    user, cards = w.user(), [f"credit_card_{w.number(7)}" for _ in range(3)]
    held = [w.code() for _ in range(w.randrange(2, 5))]
    people = [w.person() | {"dob": w.date()} for _ in range(4)]
    profile = {
        "name": people[0],
        "address": w.address(),
        "email": w.mail(),
        "payment_methods": {
            card: {"source": "credit_card", "brand": "visa", "last_four": w.number(4), "id": card}
            for card in cards
        },
        "saved_passengers": people[1:],
        "membership": "gold",
        "reservations": held,
    }
    calls = [Call("get_user_details", {"user_id": user}, profile)]
    for code in held:
        legs = [_leg(w) | {"price": w.randrange(50, 400)} for _ in range(w.randrange(1, 4))]
        booking = {
            "reservation_id": code,
            "user_id": user,
            "origin": legs[0]["origin"],
            "destination": legs[-1]["destination"],
            "flight_type": "round_trip",
            "cabin": w.choice(["economy", "business"]),
            "flights": legs,
            "passengers": w.sample(people, w.randrange(1, 4)),
            "payment_history": [{"payment_id": w.choice(cards), "amount": w.randrange(90, 900)}],
            "created_at": w.time(),
            "total_baggages": w.randrange(4),
            "insurance": "no",
        }
        calls.append(Call("get_reservation_details", {"reservation_id": code}, booking))
    bookings = [call.result for call in calls[1:]]
    for _ in range(w.randrange(1, 5)):
        booking, day = w.choice(bookings), w.date()
        route = {"origin": booking["origin"], "destination": booking["destination"], "date": day}
        offers = [_leg(w) | route | _seats(w) for _ in range(w.randrange(2, 7))]
        offers = [{k: v for k, v in offer.items() if k != "date"} for offer in offers]
        calls.append(Call("search_direct_flight", route, offers))
        chosen = [{"flight_number": w.choice(offers)["flight_number"], "date": day}]
        kept = [{k: leg[k] for k in ("flight_number", "date")} for leg in booking["flights"][1:]]
        args = {
            "reservation_id": booking["reservation_id"],
            "cabin": booking["cabin"],
            "flights": chosen + kept,
            "payment_id": w.choice(cards),
        }
        calls.append(Call("update_reservation_flights", args, booking | {"flights": chosen}))
        if w.random() < 0.5:
            args = {"reservation_id": booking["reservation_id"], "passengers": people[:3]}
            calls.append(Call("update_reservation_passengers", args, booking | args))
    goal = f"You are {user}. Change the flights of {held[0]} and use the card you have."
    return Dialogue("airline", goal, calls)


def _leg(w: World) -> dict[str, Any]:
    start, end = w.sample(AIRPORTS, 2)
    return {"origin": start, "destination": end, "flight_number": "HAT" + w.number(3)} | {
        "date": w.date(),
        "scheduled_departure_time_est": f"{w.randrange(24):02}:00:00",
        "status": "available",
    }


def _seats(w: World) -> dict[str, Any]:
    cabins = ("basic_economy", "economy", "business")
    return {
        "available_seats": {cabin: w.randrange(20) for cabin in cabins},
        "prices": {cabin: w.randrange(50, 500) for cabin in cabins},
    }


def retail(w: World) -> Dialogue:
    """Orders with items and addresses; products list their variants under identifiers."""
    user, mail, pay = w.user(), w.mail(), f"paypal_{w.number(7)}"
    orders = [f"#W{w.number(7)}" for _ in range(w.randrange(2, 6))]
    home = w.address()
    profile = {"name": w.person(), "address": home, "email": mail, "orders": orders} | {
        "payment_methods": {pay: {"source": "paypal", "id": pay}}
    }
    calls = [
        Call("find_user_id_by_email", {"email": mail}, user),
        Call("get_user_details", {"user_id": user}, profile),
    ]
    for order in orders:
        items = [_item(w) for _ in range(w.randrange(1, 6))]
        bought = {"order_id": order, "user_id": user, "address": w.address(), "items": items} | {
            "fulfillments": [
                {"tracking_id": [w.number(12)], "item_ids": [item["item_id"] for item in items]}
            ],
            "status": w.choice(["delivered", "pending"]),
            "payment_history": [{"amount": w.price(), "payment_method_id": pay}],
        }
        calls.append(Call("get_order_details", {"order_id": order}, bought))
    bought_orders = [call.result for call in calls[2:]]
    for _ in range(w.randrange(1, 6)):
        order = w.choice(bought_orders)
        item = w.choice(order["items"])
        variants = {
            number: {
                "item_id": number,
                "options": {"color": w.choice(WORDS), "size": w.choice("SML"), "material": "wool"},
                "available": w.random() < 0.6,
                "price": w.price(),
            }
            for number in (w.number(10) for _ in range(w.randrange(4, 14)))
        }
        product = {"name": item["name"], "product_id": item["product_id"], "variants": variants}
        calls.append(Call("get_product_details", {"product_id": item["product_id"]}, product))
        args = {
            "order_id": order["order_id"],
            "item_ids": [item["item_id"]],
            "new_item_ids": [w.choice(list(variants))],
            "payment_method_id": pay,
        }
        calls.append(Call("exchange_delivered_order_items", args, order | args))
        if w.random() < 0.4:
            moved = w.choice(bought_orders)
            args = {"order_id": moved["order_id"], **w.choice([home, moved["address"]])}
            calls.append(Call("modify_pending_order_address", args, moved | {"status": "pending"}))
        if w.random() < 0.3:
            sum_of = [w.choice(order["items"])["price"] for _ in range(2)]
            calls.append(Call("calculate", {"expression": " + ".join(map(str, sum_of))}, "511.12"))
    return Dialogue("retail", f"My mail is {mail}. I want to exchange some things.", calls)


def _item(w: World) -> dict[str, Any]:
    return {
        "name": w.choice(WARES).title(),
        "product_id": w.number(10),
        "item_id": w.number(10),
        "price": w.price(),
        "options": {"color": w.choice(WORDS), "size": w.choice("SML")},
    }


def calendar(w: World) -> Dialogue:
    """Events with attendees, which are sent back whole when an event moves."""
    days, calls = [w.date() for _ in range(3)], []
    for day in days:
        events = [_event(w, day) for _ in range(w.randrange(2, 9))]
        calls.append(Call("list_events", {"date": day}, {"events": events, "next_page": None}))
    known = [event for call in calls for event in call.result["events"]]
    calls.append(Call("get_contacts", {}, [w.person() | {"email": w.mail()} for _ in range(25)]))
    for _ in range(w.randrange(2, 9)):
        event = w.choice(known)
        extra = w.choice(calls[len(days)].result)
        guests = [*event["attendees"], {"email": extra["email"], "status": "invited"}]
        args = {"event_id": event["id"], "start": event["start"], "attendees": guests}
        calls.append(Call("update_event", args, event | args))
        if w.random() < 0.5:
            args = {"to": [g["email"] for g in guests], "body": event["description"]}
            calls.append(Call("send_mail", args, {"sent": True, "message_id": w.token(22)}))
    return Dialogue("calendar", f"Move my meetings of {days[0]} and tell the guests.", calls)


def _event(w: World, day: str) -> dict[str, Any]:
    guests = [{"email": w.mail(), "status": w.choice(["accepted", "declined"])} for _ in range(4)]
    return {
        "id": "evt_" + w.token(12),
        "title": f"{w.choice(TOPICS).title()} {w.choice(['review', 'sync', 'kickoff'])}",
        "start": f"{day}T{w.randrange(8, 18):02}:30:00",
        "end": f"{day}T{w.randrange(18, 20)}:00:00",
        "location": {"room": f"{w.choice(PLACES)} {w.randrange(100, 999)}", "floor": 3},
        "attendees": w.sample(guests, w.randrange(1, 4)),
        "description": w.text(w.randrange(40, 300)),
    }


def files(w: World) -> Dialogue:
    """A file tree whose keys are names, and plain-text contents that are written elsewhere."""
    folders = {w.choice(TOPICS) + w.number(2): _folder(w) for _ in range(w.randrange(2, 6))}
    calls = [Call("tree", {"path": "."}, {"workspace": folders})]
    for _ in range(w.randrange(3, 14)):
        folder = w.choice(list(folders))
        name = w.choice(list(folders[folder]))
        calls.append(Call("cd", {"folder": folder}, {"current_working_directory": f"/{folder}"}))
        text = w.text(w.randrange(60, 420))
        calls.append(Call("cat", {"file_name": name}, {"file_content": text}))
        other = w.choice(list(folders[folder]))
        if w.random() < 0.5:
            calls.append(Call("echo", {"content": text, "file_name": other}, None))
        else:
            line = text[: text.find(" ", 30)]
            found = {"matching_lines": [line, w.text(50)]}
            calls.append(Call("grep", {"file_name": name, "pattern": line.split()[1]}, found))
            calls.append(Call("post_message", {"message": line, "tags": [name]}, {"id": 10234}))
    return Dialogue("files", "Collect what the notes say and post it.", calls)


def _folder(w: World) -> dict[str, Any]:
    names = {f"{w.choice(WORDS)}_{w.choice(TOPICS)}.{w.choice(['txt', 'csv', 'py'])}"}
    names |= {f"{w.choice(TOPICS)}_{w.number(3)}.md" for _ in range(w.randrange(1, 6))}
    return {name: {"type": "file", "size": w.randrange(10**5)} for name in sorted(names)}


def search(w: World) -> Dialogue:
    """Search results with long texts, in which identifiers hide."""
    calls = []
    for _ in range(w.randrange(2, 7)):
        topic = w.choice(TOPICS)
        hits = [_hit(w) for _ in range(w.randrange(3, 11))]
        found = {"query": topic, "total": w.randrange(10, 900), "results": hits}
        calls.append(Call("search", {"query": topic, "limit": 10}, found))
        hit = w.choice(hits)
        page = {"id": hit["id"], "body": w.text(900) + f" See {w.code(8)}-7 and {w.mail()}."}
        calls.append(Call("open_document", {"document_id": hit["id"], "url": hit["url"]}, page))
        tail = page["body"].rsplit(" See ")[1].rstrip(".").split(" and ")
        calls.append(Call("get_ticket", {"key": tail[0]}, {"key": tail[0], "title": w.text(70)}))
        chosen = w.choice(hits)
        args = {"text": chosen["snippet"], "language": "de"}
        calls.append(Call("translate", args, {"translation": w.text(len(chosen["snippet"]))}))
        hidden = chosen["snippet"].split("(")[1].split(")")[0]
        args = {"reference": hidden, "recipient": tail[1], "title": chosen["title"]}
        calls.append(Call("share", args, "Shared with " + tail[1]))
    return Dialogue("search", f"Find out about {calls[0].args['query']} and share it.", calls)


def _hit(w: World) -> dict[str, Any]:
    start, end = w.text(w.randrange(30, 200)), w.text(w.randrange(30, 220))
    return {
        "id": w.number(8),
        "title": w.text(w.randrange(20, 90)),
        "url": f"https://example.com/{w.token(8)}/{w.choice(TOPICS)}",
        "snippet": f"{start[:-1]} (REF-{w.number(5)}) {end}",
        "score": round(w.random(), 4),
    }


def rest(w: World) -> Dialogue:
    """Large answers of web services: deep, repetitive, and sometimes JSON in a string."""
    calls = []
    for _ in range(w.randrange(2, 7)):
        league = w.randrange(100, 9999)
        teams = [_team(w) for _ in range(w.randrange(5, 70))]
        answer: Any = {"error": "", "response": {"page": 1, "data": {"teams": teams}}}
        if w.random() < 0.5:
            answer["response"] = json.dumps(answer["response"])
        calls.append(Call(w.choice(["teams", "standings"]), {"leagueId": league}, answer))
        team = w.choice(teams)
        args = {"teamId": team["id"], "venue": team["venue"]["name"], "season": 2023}
        calls.append(Call("team_detail", args, {"response": {"colors": {"home": w.token(6)}}}))
        player = w.choice(team["players"])
        args = {"id": player["id"], "position": {"lat": team["venue"]["geo"]["lat"]}}
        calls.append(Call("player", args, {"response": json.dumps(player | {"height": 181})}))
    return Dialogue("rest", f"Look up league {calls[0].args['leagueId']} in 2023.", calls)


def _team(w: World) -> dict[str, Any]:
    geo = {"lat": w.randrange(10**6) / 10**4, "lon": w.randrange(10**6) / 10**4}
    venue = {
        "name": f"{w.choice(LAST)} Park {w.randrange(99)}",
        "geo": geo,
        "city": w.choice(PLACES),
    }
    players = [{"id": w.randrange(10**6), "name": w.choice(LAST)} for _ in range(w.randrange(1, 4))]
    return {
        "id": w.randrange(1000, 99999),
        "name": f"{w.choice(PLACES)} {w.choice(WARES).title()}s",
        "logo": f"https://media.example.com/teams/{w.token(10)}.png",
        "founded": w.randrange(1880, 2010),
        "national": False,
        "venue": venue,
        "players": players,
    }


def records(w: World) -> Dialogue:
    """Lists of records that the next step takes whole: load, filter, sort, sum."""
    calls = []
    for _ in range(w.randrange(1, 5)):
        region = w.choice(PLACES)
        rows = [_row(w) for _ in range(w.randrange(4, 31))]
        calls.append(Call("load_records", {"region": region}, {"records": rows}))
        some = [row for row in rows if row["amount"] > 150]
        args = {"records": rows, "field": "amount", "above": 150}
        calls.append(Call("filter_records", args, {"records": some}))
        by_date = sorted(some, key=lambda row: str(row["date"]))
        calls.append(Call("sort_records", {"records": some, "key": "date"}, by_date))
        sums = {"total": round(sum(row["amount"] for row in some), 2), "count": len(some)}
        calls.append(Call("total", {"values": [row["amount"] for row in some]}, sums))
        lines = [{k: row[k] for k in ("id", "customer", "note")} for row in by_date[:4]]
        args = {"title": f"{region} report", "lines": lines, "total": sums["total"]}
        calls.append(Call("make_report", args, {"report_id": f"rep-{w.token(8)}", "ok": True}))
    return Dialogue("records", "Report what each region sold above 150.", calls)


def _row(w: World) -> dict[str, Any]:
    return {
        "id": w.number(7),
        "customer": {"name": " ".join(w.person().values()), "tier": w.choice(["A1", "B2"])},
        "amount": w.price(),
        "date": w.date(),
        "paid": w.random() < 0.5,
        "note": w.text(w.randrange(20, 150)),
    }


def desk(w: World) -> Dialogue:
    """A help desk that answers in sentences, and uses things many turns later."""
    opened: list[dict[str, str]] = []
    calls = []
    for _ in range(w.randrange(2, 9)):
        ticket, mail, amount = f"TCK-{w.number(6)}", w.mail(), w.price()
        topic = w.text(w.randrange(30, 80))
        opened.append({"ticket": ticket, "mail": mail, "amount": str(amount), "topic": topic})
        said = f"Ticket {ticket} was opened for {mail} on {w.date()}. Refund due: ${amount}."
        calls.append(Call("open_ticket", {"topic": topic, "priority": "high"}, said))
        status = {"ticket": ticket, "log": [w.text(140) for _ in range(3)], "owner": w.user()}
        calls.append(Call("ticket_status", {"ticket_id": ticket}, status))
    for one in w.sample(opened, len(opened)):
        args = {"ticket_id": one["ticket"], "amount": float(one["amount"]), "to": one["mail"]}
        calls.append(Call("refund", args, f"Refunded. Receipt R{w.number(9)}"))
        receipt = calls[-1].result.split()[-1]
        args = {"ticket_id": one["ticket"], "note": {"receipt": receipt, "topic": one["topic"]}}
        calls.append(Call("close_ticket", args, "closed"))
    return Dialogue("desk", "Open a ticket for each complaint, then refund all of them.", calls)


Family = Callable[[World], Dialogue]
FAMILIES: tuple[Family, ...] = (
    airline,
    retail,
    calendar,
    files,
    search,
    rest,
    records,
    desk,
)


def dialogues(families: tuple[Family, ...], seeds: range) -> Iterator[Dialogue]:
    """Yield one dialogue per family and seed."""
    for family in families:
        for seed in seeds:
            yield family(World(f"{family.__name__}:{seed}"))
