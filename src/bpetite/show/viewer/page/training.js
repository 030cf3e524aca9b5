// Words and rules → merges: byte-level BPE training, by the rules of bpetite's specification.
//
// A lesson (from the server) has the rules of one dialect and the words of the corpus, each as base tokens in
// hexadecimal. These strings compare as their bytes do.

/** The state before any merge. */
export function firstState(lesson) {
  const idOf = new Map(lesson.base.map((bytes, place) => [bytes, lesson.first_id + place]));
  return {
    bytesOf: new Map([...idOf].map(([bytes, id]) => [id, bytes])),
    idOf,
    nextId: lesson.first_merge_id,
    words: lesson.words.map(([word, count]) => ({ ids: word.split(" ").map((bytes) => idOf.get(bytes)), count })),
  };
}

/** Counts every adjacent pair, multiplied by the count of its word; most frequent first. */
export function countPairs(words) {
  const counts = new Map();
  for (const { ids, count } of words) {
    for (let place = 0; place + 1 < ids.length; place++) {
      const key = `${ids[place]} ${ids[place + 1]}`;
      counts.set(key, (counts.get(key) ?? 0) + count);
    }
  }
  return [...counts].map(([key, count]) => ({ pair: key.split(" ").map(Number), count })).sort((a, b) => b.count - a.count);
}

const compare = (a, b) => (a < b ? -1 : a > b ? 1 : 0);
const compareIds = (a, b) => a[0] - b[0] || a[1] - b[1];

/** The pairs with the highest count, the winner first. */
export function bestPairs(counted, tieBreak, bytesOf) {
  const tied = counted.filter(({ count }) => count === counted[0].count).map(({ pair }) => pair);
  const compareBytes = (a, b) =>
    compare(bytesOf.get(a[0]), bytesOf.get(b[0])) || compare(bytesOf.get(a[1]), bytesOf.get(b[1]));
  const orders = {
    smallest_ids: compareIds,
    smallest_bytes: (a, b) => compareBytes(a, b) || compareIds(a, b),
    largest_bytes: (a, b) => compareBytes(b, a) || compareIds(a, b),
  };
  return tied.sort(orders[tieBreak]);
}

/** Replaces a pair in one non-overlapping pass from left to right. */
export function mergeWord(ids, [left, right], made) {
  const result = [];
  for (let place = 0; place < ids.length; place++) {
    if (ids[place] === left && ids[place + 1] === right) {
      result.push(made);
      place++;
    } else {
      result.push(ids[place]);
    }
  }
  return result;
}

/** Applies a merge to every word; words that become equal are combined and their counts add up. */
function mergeWords(words, pair, made) {
  const merged = new Map();
  for (const { ids, count } of words) {
    const result = mergeWord(ids, pair, made);
    const key = result.join(" ");
    merged.set(key, { ids: result, count: (merged.get(key)?.count ?? 0) + count });
  }
  return [...merged.values()];
}

/** Trains; every step has the counts, the pairs that were tied, the one that won, and the words after the merge. */
export function train(lesson, mostMerges) {
  const { bytesOf, idOf, words: start, nextId: first } = firstState(lesson);
  let words = start;
  let nextId = first;
  const steps = [];
  while (steps.length < mostMerges) {
    const counted = countPairs(words);
    if (!counted.length) break;
    const tied = bestPairs(counted, lesson.tie_break, bytesOf);
    const [pair] = tied;
    const bytes = bytesOf.get(pair[0]) + bytesOf.get(pair[1]);
    const shared = lesson.equal_tokens === "shared" && idOf.has(bytes);
    const made = shared ? idOf.get(bytes) : nextId++;
    bytesOf.set(made, bytes);
    idOf.set(bytes, made);
    words = mergeWords(words, pair, made);
    steps.push({ counted, tied, pair, made, count: counted[0].count, words });
  }
  return { bytesOf, start, steps };
}
