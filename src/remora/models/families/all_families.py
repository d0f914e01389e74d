"""All families of call formats with marks. One is added by its module and its name here."""

from remora.models.families.call_reader import Family
from remora.models.families.functiongemma import FUNCTIONGEMMA
from remora.models.families.gemma import GEMMA
from remora.models.families.hermes import HERMES
from remora.models.families.lfm import LFM
from remora.models.families.qwen_coder import QWEN_CODER

FAMILIES: tuple[Family, ...] = (FUNCTIONGEMMA, GEMMA, LFM, HERMES, QWEN_CODER)
MARKS = tuple(dict.fromkeys(mark for family in FAMILIES for mark in family.marks))
