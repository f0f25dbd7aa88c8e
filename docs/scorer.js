/* How the search ranks pages that have all the words somewhere in their text: Sphinx gives them the
   same score, and sorts them by title. Pages for users come before those for contributors. */
var Scorer = {
  score: ([page, title, anchor, description, score]) =>
    /^(architecture|changes|decisions|errata|extending|results\/.*|benchmarks.*)$/.test(page)
      ? score - 2
      : /^(guides|reference|explanation|evidence|index|tutorials\/.*)$/.test(page)
        ? score - 1
        : score,

  // The defaults of Sphinx.
  objNameMatch: 11,
  objPartialMatch: 6,
  objPrio: { 0: 15, 1: 5, 2: -5 },
  objPrioDefault: 0,
  title: 15,
  partialTitle: 7,
  term: 5,
  partialTerm: 2,
};
