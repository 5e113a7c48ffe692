"""The command line: commands and everything that is drawn for people.

``main`` lists the commands; each stands in a module of its own and imports what it needs when it
runs, so that ``constrain --help`` does not wait for NumPy. Below them:

    usage       commands and their help, without names of types; ``running`` has the exit codes
    words       bytes, byte sets and tokens in words; sizes and counts
    terminal    where output goes: consoles, grids, progress
    errors      one message for each error, with a caret where there is a place to point at
    facts       what there is to say of a table, as data; ``report`` draws it
    told        the part of it that the file says of itself, without what cannot be shown
    ways        texts that lead to a state, and from a state to an end
    drawing     random texts through the masks
    folding     the automaton in boxes and rows; ``layout`` places them, ``picture`` has both
    vector      a picture as SVG; ``raster`` as PNG and PDF, ``dot`` the boxes as DOT text

Results go to standard output, everything else to standard error. Nothing imports this package.
"""
