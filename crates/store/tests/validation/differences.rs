//! Differences between libyang (5.4) and RFC 7950, cases that RFC 7950 leaves open, and how the tests handle
//! them.
//!
//! | section | RFC 7950 | libyang | here |
//! |---|---|---|---|
//! | §8.2, §7.21.5 | a node whose `when` became false is deleted; conditions that read such nodes see the result | trusts the flag of a node whose `when` is still to be tested, so the result depends on the order | the judge gives libyang trees without flags, and does the deletions itself |
//! | §7.6.1, §7.21.5 | a default whose `when` is false is not in use | other conditions may still see it | the judge adds defaults itself, and removes them before others are tested |
//! | §8.2 | silent on what an edit made inside a node that is deleted for its `when` | deletes it with the node | either verdict is accepted; the trees have to be equal where the edit is accepted |
//! | §8.3.2 | changing a leaf whose `when` is false is an error | deletes the leaf | an error |
//! | §7.8.3 | `unique` counts a default where it is in use | counts it where the leaf could not exist as well | leaves with defaults are not `unique` inside choices and presence containers, nor under `when` |
//! | §7.9.3, §7.21.5 | silent on a `when` that depends on which case is the default one | order of evaluation | no `when` reads a node of a choice with a default case |
//! | - | - | frees memory twice where an implicit container with a false `when` holds another | no such schemas |
//! | §7.21.5 | `//name` in a `when` reads what is of that name | waits for all nodes with a `when`, and gives up where two wait for each other | no `//` in `when` |
//! | §7.21.5 | a `when` of a node in the tree of one module may read the trees of others | is done with the tree of a module before it begins with the next | no such `when` |
//! | - | - | crashes on a set of nodes out of document order (`ancestor::*`, `preceding-sibling::*`, `deref` of several) where the last top-level node has no children | every module ends in a container that has a leaf with a default; no such sets in `when` |
//! | §7.6.1, §7.9 | a default in a case is in use where any node of the case exists | not where that node is in a choice in the case | no defaults and implicit containers beside a choice in a case |
//! | §10.3.1 | `deref` of a reference to nothing (`require-instance false`) is an empty set | an error | no such `deref`; where the reference must be to something, and a `when` reads what it refers to before another takes both away, such a verdict says nothing |
//! | §10.5.1 | `enum-value` of a leafref to an enumeration: unclear | NaN | no such `enum-value` |
//! | §7.7.7 | the system orders entries as it likes | by type; enumerations, identities and bits otherwise than here | functions that take the first of several nodes only where the order is the same |
//! | XPath §2.3 | `*` is an element, never the root | `ancestor::*` and `parent::*` have the root | no such steps |
//! | XPath §2.4 | a position is that among the nodes of one context node | among those of all | positions only in lists that are in no other list |
//! | XPath §3.4 | two nodes are equal where their strings are: the key `0` is not the decimal `0.0` | a predicate on a key takes the value as one of the key's type | no key is compared with a decimal |
//! | XPath §4.4 | `floor(NaN)` is NaN | the context node | `floor` of numbers only |
//! | §7.5.1, §7.21.5 | an implicit container whose `when` is false does not exist | other conditions may still see it | no `when` reads the existence of a container without presence |
