"""Neutralization of tokenizer control tokens in data."""

_GEMMA = """
<start_of_turn> <end_of_turn> <escape> <start_function_declaration> <end_function_declaration>
<start_function_call> <end_function_call> <start_function_response> <end_function_response>
<bos> <eos> <pad> <unk> <mask>
"""
CONTROL_TOKENS = (*_GEMMA.split(), "<|")
"""FunctionGemma's control tokens, and how those of ChatML, Llama and most other models start."""


def neutralize_control_tokens(text: str) -> str:
    """Insert a space after the `<` of every control token in `text`.

    Agents read untrusted code. A string in that code must not be able to end the user's turn.
    """
    for token in CONTROL_TOKENS:
        text = text.replace(token, "< " + token[1:])
    return text
