"""FunctionGemma: `<start_function_call>call:f{k:<escape>v<escape>,n:3}<end_function_call>`.

The format is defined in Google's guide "FunctionGemma formatting and best practices" and in the
chat template of google/functiongemma-270m-it.
"""

from remora.models.families.call_reader import escaped_calls

START, END, ESCAPE = "<start_function_call>", "<end_function_call>", "<escape>"
FUNCTIONGEMMA = escaped_calls("functiongemma", START, END, ESCAPE)
