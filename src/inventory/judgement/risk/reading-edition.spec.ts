import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { expect, it } from 'vitest';
import { readAlgorithm } from '../names/algorithm-uses.js';
import curvesFile from '../vocabularies/curves.json' with { type: 'json' };
import { knownFamilies } from '../vocabularies/families.js';
import namesFile from '../vocabularies/opaque-names.json' with { type: 'json' };
import oidsFile from '../vocabularies/oids.json' with { type: 'json' };
import suitesFile from '../vocabularies/tls-suites.json' with { type: 'json' };
import { READING_EDITION } from './reading-edition.js';

/**
 * Digest over the results of reading all vocabulary and registry names, by edition. If this test fails, names are read differently: increase
 * READING_EDITION, so that stored assets are reread, and add the new digest.
 */
const DIGESTS: Readonly<Record<number, string>> = {
  1: '06f95b4ef651f7800ff4e40d2753353b',
  2: 'e74956e42fcb1f3e45510eb56bad2917',
  3: 'eb8714394abd63b5c8ad6938255a019b',
  4: '3acfff5894d095369c6c8383a16a38c4',
  5: '14cede60be2b514162dc6b3749adcb02',
  6: 'a1ba76980f262c12703004aaaedeeb68',
  // Edition 7 reads these names in the same way as edition 6. Edition 7 differs for keys on which other assets depend: the name of such a key is used only if
  // the whole name is an algorithm, unlike SHA256:<fingerprint>.
  7: 'a1ba76980f262c12703004aaaedeeb68',
};

function registryNames(file: string): string[] {
  const text = readFileSync(new URL(`../../../../test/inventory/${file}`, import.meta.url), 'utf8');
  return (JSON.parse(text) as { name: string }[]).map(({ name }) => name);
}

it('the reader edition changes when names are read differently', () => {
  const names = new Set([
    ...[...knownFamilies().values()].flatMap(({ words }) =>
      words.split(' ').map((word) => word.replace(/[=@:].*/, '')),
    ),
    ...namesFile.vocabularies.flatMap((vocabulary) => Object.keys(vocabulary.names)),
    ...oidsFile.registries.flatMap((registry) => Object.keys(registry.names)),
    ...curvesFile.curves.map(({ name }) => name),
    ...Object.values(suitesFile.suites).flatMap((spellings) => spellings.split(' ')),
    ...registryNames('registry-names.json'),
    ...registryNames('registry-names-second.json'),
    ...registryNames('registry-names-third.json'),
    ...registryNames('registry-names-fourth.json'),
    ...registryNames('registry-names-fifth.json'),
    ...registryNames('registry-names-sixth.json'),
    ...registryNames('registry-names-seventh.json'),
    ...registryNames('registry-names-eighth.json'),
  ]);
  const readings = [...names].sort().map((name) => {
    const { uses, reading } = readAlgorithm(name);
    return [name, uses, reading.unread, reading.mayBePublicKey, reading.isWhole];
  });
  const digest = createHash('sha256').update(JSON.stringify(readings)).digest('hex').slice(0, 32);
  expect({ [READING_EDITION]: digest }).toEqual({ [READING_EDITION]: DIGESTS[READING_EDITION] });
});
