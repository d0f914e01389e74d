"""Neutralization of tokenizer control tokens in data."""

from collections.abc import Sequence

_GEMMA = """
<start_of_turn> <end_of_turn> <escape> <start_function_declaration> <end_function_declaration>
<start_function_call> <end_function_call> <start_function_response> <end_function_response>
<bos> <eos> <pad> <unk> <mask>
"""
CONTROL_TOKENS = (*_GEMMA.split(), "<|")
"""FunctionGemma's control tokens, and how those of ChatML, Llama and most other models start.

The renderers neutralize these. Recorded prompts are rendered again and compared, so another token
needs new versions of the renderers.
"""
_LLAMA_2 = "<s> </s> [INST] [/INST] <<SYS>> <</SYS>>"
"""From `generation.py` in Meta's repository `llama`. Mistral's models share most of them."""
_MISTRAL = """
[SYSTEM_PROMPT] [/SYSTEM_PROMPT] [AVAILABLE_TOOLS] [/AVAILABLE_TOOLS] [TOOL_CALLS]
[TOOL_RESULTS] [/TOOL_RESULTS] [TOOL_CONTENT]
"""
"""Tokens that begin or end a part of a prompt, from `SpecialTokens` in `mistral-common`."""
_DEEPSEEK = "<\N{FULLWIDTH VERTICAL LINE}"
"""Start of the tokens in the chat template of DeepSeek's models."""
KNOWN_TOKENS = (*CONTROL_TOKENS, *_LLAMA_2.split(), *_MISTRAL.split(), _DEEPSEEK)
"""Control tokens of all models that may read an answer of Remora, but for the marks of calls."""


def neutralize_control_tokens(text: str, tokens: Sequence[str] = CONTROL_TOKENS) -> str:
    """Insert a space after the first character of every control token in `text`.

    Agents read untrusted code. A string in that code must not be able to end the user's turn.
    """
    for token in tokens:
        text = text.replace(token, f"{token[0]} {token[1:]}")
    return text
