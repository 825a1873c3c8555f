import { loadavg } from 'node:os';
import { algorithmUsesOf } from '../src/inventory/judgement/names/algorithm-uses.js';
import { knownFamilies } from '../src/inventory/judgement/vocabularies/families.js';
import curvesFile from '../src/inventory/judgement/vocabularies/curves.json' with { type: 'json' };
import namesFile from '../src/inventory/judgement/vocabularies/opaque-names.json' with { type: 'json' };

/** Measures the time needed to parse algorithm names that this process has not seen before: every name in the vocabulary, in four variants. */
const ROUNDS = 10;

const families = [...knownFamilies().values()].flatMap(({ words }) =>
  words.split(' ').map((word) => `Acme-${word.replace(/[=@:].*/, '').toUpperCase()}-256`),
);
const vocabularies = namesFile.vocabularies.flatMap((vocabulary) => Object.keys(vocabulary.names));
const names = new Set([...families, ...vocabularies, ...curvesFile.curves.map(({ name }) => name)]);
const spellings = [...names].flatMap((name) => [name, name.toLowerCase(), `${name}-x`, `com.example.${name}`]);

/** Measures CPU time, which other processes on the machine do not affect. */
const rounds = Array.from({ length: ROUNDS }, () => {
  const begun = process.cpuUsage();
  for (const name of spellings) algorithmUsesOf(name);
  const { user, system } = process.cpuUsage(begun);
  return (user + system) / spellings.length;
});
const text = rounds.map((microseconds) => microseconds.toFixed(1)).join(' ');
console.log(`${spellings.length} names, µs of CPU each, round by round: ${text}; load ${loadavg()[0]?.toFixed(1)}`);
