"""Articles, their prices and how they are found."""

import json
import os
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import List, Optional


@dataclass(frozen=True)
class Article:
    """One article on sale; prices are whole cents."""

    sku: str
    title: str
    price: int
    tags: Optional[List[str]] = None
    weight_grams: int = 0

    def has_tag(self, tag: str) -> bool:
        """Whether the article carries a tag, whatever its case."""
        if self.tags == None:
            return False
        return tag.lower() in [own.lower() for own in self.tags]

    def label(self) -> str:
        """What stands on the shelf."""
        return "{}: {:.2f} EUR".format(self.title, self.price / 100)


@dataclass
class Catalog:
    """All articles by their number."""

    articles: dict[str, Article] = field(default_factory=dict)

    def add(self, article: Article) -> None:
        """Add an article; a number may be used once."""
        if article.sku in self.articles.keys():
            raise ValueError(f"there is an article with this number already")
        self.articles[article.sku] = article

    def find(self, words: str, limit: Optional[int] = None) -> Optional[List[Article]]:
        """Articles whose title has every one of the words, cheapest first; None if there are none."""
        wanted = words.lower().split()
        hits = [a for a in self if all([w in a.title.lower() for w in wanted])]
        if not hits:
            return None
        else:
            return sorted(hits, key=lambda a: a.price)[:limit]

    def __iter__(self) -> Iterator[Article]:
        return iter(self.articles.values())


def load_catalog(path: str) -> Catalog:
    """Read a catalog from a JSON file: a list of objects with `sku`, `title`, `price`."""
    catalog = Catalog()
    with open(path, "r", encoding="utf-8") as file:
        rows = json.load(file)
    for number, row in enumerate(rows):
        try:
            catalog.add(Article(**row))
        except TypeError:
            raise ValueError(f"{path}: an article has an unknown or a missing field")
    return catalog
