// How the search ranks what it finds: pages of the book before entries of the package's reference.
// Sphinx reads this object; higher is earlier.
var Scorer = {
  objNameMatch: 6,
  objPartialMatch: 1,
  objPrio: { 0: 1, 1: 0, 2: -5 },
  objPrioDefault: 0,
  title: 15,
  partialTitle: 12,
  term: 5,
  partialTerm: 2,
};
