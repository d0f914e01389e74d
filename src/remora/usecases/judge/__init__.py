"""The judgement of a change that a person, an agent or a bot has made."""
