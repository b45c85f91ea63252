"""Rules of data contracts, run by serializers and deserializers.

`model` reads a rule set, `running` chooses and runs its rules, `fields` walks values field by field, and
`expressions` (CEL, JSONata) and `encryption` are what rules do. A registry keeps rules, and clients run them.
"""
