"""Gemma 4: `<|tool_call>call:f{k:<|"|>v<|"|>,n:3}<tool_call|>`.

The format is defined in the models' chat template (`models/templates/gemma4.jinja` in llama.cpp).
vLLM's issue 53642 reports calls with round brackets.
"""

from remora.models.families.call_reader import escaped_calls

START, END, ESCAPE = "<|tool_call>", "<tool_call|>", '<|"|>'
GEMMA = escaped_calls("gemma", START, END, ESCAPE)
