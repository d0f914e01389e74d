"""Texts that tokenizers read as control tokens, and how data that holds them is made harmless."""

_GEMMA = """
<start_of_turn> <end_of_turn> <escape> <start_function_declaration> <end_function_declaration>
<start_function_call> <end_function_call> <start_function_response> <end_function_response>
<bos> <eos> <pad> <unk> <mask>
"""
CONTROL_TOKENS = (*_GEMMA.split(), "<|")
"""FunctionGemma's, and how those of ChatML, Llama and most others begin."""


def neutralize_control_tokens(text: str) -> str:
    """`text` in which no control token is left: a space parts its `<` from its name.

    What an agent reads is other people's code: a string in it must not end the user's turn.
    """
    for token in CONTROL_TOKENS:
        text = text.replace(token, "< " + token[1:])
    return text
