"""Download of a file, which continues where an earlier download stopped."""

from collections.abc import Callable
from pathlib import Path

import httpx2

from remora.errors import ModelError


def download(url: str, part: Path, size: int, progress: Callable[[str], None]) -> None:
    """Add what is missing to the file `part`. Raises ModelError if it has not `size` bytes then."""
    part.touch()
    if (begun := part.stat().st_size) >= size:
        return
    # a compressed answer has other positions
    asked, shown = {"Accept-Encoding": "identity", "Range": f"bytes={begun}-"}, -1
    try:
        with httpx2.stream("GET", url, headers=asked, follow_redirects=True, timeout=60) as answer:
            answer.raise_for_status()
            is_rest = answer.headers.get("content-range", "").startswith(f"bytes {begun}-")
            with part.open("ab" if is_rest else "wb") as file:
                for data in answer.iter_raw():
                    file.write(data)
                    if (percent := file.tell() * 100 // size) >= shown + 5:
                        shown = percent
                        progress(f"downloaded {file.tell() / 1e6:,.0f} of {size / 1e6:,.0f} MB")
                    if file.tell() > size:  # a server must not fill the disk
                        break
        why = f"the answer ended after {part.stat().st_size:,} of {size:,} bytes"
    except (httpx2.HTTPError, httpx2.InvalidURL) as error:
        why = str(error).partition("\n")[0] or type(error).__name__
    if part.stat().st_size < size:
        hint = "run the command again to continue, or download the file elsewhere and use --from"
        raise ModelError(f"cannot download {url}: {why}", hint=hint)
