/** "Did you mean": the known word nearest to a mistyped one, or `undefined` when none is near. */
export function nearest(word: string, known: readonly string[]): string | undefined {
  const wanted = word.toLowerCase();
  const limit = wanted.length <= 4 ? 1 : wanted.length <= 7 ? 2 : 3;
  let best: string | undefined;
  let bestDistance = limit + 1;
  for (const candidate of known) {
    const other = candidate.toLowerCase();
    if (Math.abs(other.length - wanted.length) > limit) continue;
    const distance = editDistance(wanted, other, bestDistance);
    if (distance < bestDistance) {
      best = candidate;
      bestDistance = distance;
    }
  }
  if (best !== undefined) return best;
  // A word cut short (`stat` for `statistics`) is far by distance, but one continuation alone is no guess.
  if (wanted.length < 2) return undefined;
  const longer = known.filter((candidate) => candidate.toLowerCase().startsWith(wanted));
  return longer.length === 1 ? longer[0] : undefined;
}

/** Restricted Damerau-Levenshtein distance; any answer ≥ `limit` means "too far". Words are short: bounded by 64 letters. */
function editDistance(a: string, b: string, limit: number): number {
  if (a === b) return 0;
  if (a.length > 64 || b.length > 64) return limit;
  let before: number[] = [];
  let previous = Array.from({ length: b.length + 1 }, (_, i) => i);
  for (let i = 1; i <= a.length; i++) {
    const row = [i];
    let smallest = i;
    for (let j = 1; j <= b.length; j++) {
      const same = a[i - 1] === b[j - 1];
      let cost = Math.min((previous[j] ?? 0) + 1, (row[j - 1] ?? 0) + 1, (previous[j - 1] ?? 0) + (same ? 0 : 1));
      if (i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1]) cost = Math.min(cost, (before[j - 2] ?? 0) + 1);
      row.push(cost);
      if (cost < smallest) smallest = cost;
    }
    if (smallest >= limit) return limit;
    before = previous;
    previous = row;
  }
  return previous[b.length] ?? limit;
}
