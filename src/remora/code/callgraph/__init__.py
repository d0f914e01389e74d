"""Links between nodes: who calls, imports and extends whom."""
