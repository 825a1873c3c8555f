import { isMembers, type JsonMembers, memberTextOf } from '../../model/json.js';
import { Problem } from '../../../platform/errors/problem.js';
import type { Draft, DraftAsset, Remark } from '../../model/document.js';
import { withoutSecretMembers } from '../../model/secrets.js';
import { ExpansionLimit } from './expansion-limit.js';
import { withExternalProperties } from './sarif-external.js';
import { findingIn, isFound, isSuppressed, type SarifFinding } from './sarif-findings.js';
import { algorithmAsset } from './sarif-names.js';
import { type SarifPlace, SarifPlaces } from './sarif-places.js';
import { SarifTool } from './sarif-tool.js';
import { membersOf, objectsOf, refuse } from './sarif-values.js';
import { truncate } from '../../../platform/text/truncate.js';

const VERSION = '2.1.0';
const MAX_LOCATION = 4000;
const MAX_WARNINGS = 100;
/** MAX_PLACES is the maximum number of sources in one log. Each source gets its own document and transaction. */
const MAX_PLACES = 100;

export function isSarif(document: JsonMembers): boolean {
  return Array.isArray(document['runs']) && document['bomFormat'] === undefined;
}

/** Findings of one or more runs for one inventory source. */
interface Place {
  readonly name: string | undefined;
  readonly assets: Map<string, DraftAsset>;
  /** Context prefixes of the complete runs, one for each tool and category. */
  readonly replaces: Set<string>;
  /** Context prefixes in the previous version's format: one for each tool, regardless of category. */
  readonly replacesFormer: Set<string>;
  readonly warnings: Remark[];
  results: number;
  taken: number;
}

/**
 * readSarif reads SARIF 2.1.0 (OASIS Standard, 27 March 2020). A result is used if it reports a finding (`kind`, `baselineState`, `suppressions`), belongs to
 * a rule about cryptography, and names an algorithm. All other results are only counted.
 *
 * Returns a draft for each source. The source of a run is `source` if given, otherwise the run's category, otherwise the run's repository. A run replaces only
 * earlier findings of the same tool for the same source and category. A run without results, a failed run, and a run whose results are in an external file
 * replace nothing.
 *
 * @param size number of characters in the document, from which the expansion limit is derived
 * @throws Problem 422 `document.version`, `document.invalid` or `document.too-costly`.
 */
export function readSarif(log: JsonMembers, source: string | undefined, size: number): Draft[] {
  if (log['version'] !== VERSION) throw otherVersion(log['version']);
  const places = new Map<string | undefined, Place>();
  const limit = new ExpansionLimit(size);
  for (const [index, given] of (log['runs'] as unknown[]).entries()) {
    const pointer = `/runs/${index}`;
    if (!isMembers(given)) refuse(pointer, 'must be of type object');
    const warnings: Remark[] = [];
    const { run, lacksResults } = withExternalProperties(given, log, { pointer, warnings, limit });
    const name = source ?? placeOf(run);
    const place = places.get(name) ?? newPlace(name);
    places.set(name, place);
    if (places.size > MAX_PLACES) throw tooManyPlaces();
    place.warnings.push(...warnings);
    readRun(run, { pointer, place, limit, lacksResults });
  }
  if (places.size === 0) places.set(source, newPlace(source));
  return Array.from(places.values(), draftOf);
}

function otherVersion(version: unknown): Problem {
  const text = typeof version === 'string' ? truncate(version, 40) : undefined;
  const known = /^[12]\.0\.0/.test(text ?? '') ? ': convert it, for example with sarif-multitool transform' : '';
  const detail = `must be ${VERSION}${text === undefined ? '' : `, not ${withoutSecretMembers(text)}${known}`}`;
  const message = `The SARIF document cannot be parsed. /version: ${detail}.`;
  return new Problem('refused', 'document.version', message, { errors: [{ pointer: '/version', detail }] });
}

function tooManyPlaces(): Problem {
  const detail = `has runs for more than ${MAX_PLACES} categories or repositories; send it in parts`;
  return new Problem('refused', 'document.too-costly', `The document ${detail}.`, {
    errors: [{ pointer: '/runs', detail }],
  });
}

function newPlace(name: string | undefined): Place {
  const [assets, warnings] = [new Map<string, DraftAsset>(), []];
  return { name, assets, replaces: new Set(), replacesFormer: new Set(), warnings, results: 0, taken: 0 };
}

interface RunOrder {
  readonly pointer: string;
  readonly place: Place;
  readonly limit: ExpansionLimit;
  readonly lacksResults: boolean;
}

function readRun(run: JsonMembers, { pointer, place, limit, lacksResults }: RunOrder): void {
  const tool = new SarifTool(run, pointer);
  const category = categoryOf(run);
  const former = `${withoutSecretMembers(tool.name)}: `;
  const context =
    category === '' || category === place.name ? former : `${withoutSecretMembers(tool.name)} (${category}): `;
  limit.spend(context.length + former.length);
  const results = run['results'] ?? undefined;
  if (results !== undefined && !Array.isArray(results)) refuse(`${pointer}/results`, 'must be of type array');
  readResults((results ?? []) as unknown[], {
    tool,
    places: new SarifPlaces(run, limit),
    context,
    pointer,
    place,
    limit,
  });
  if (results !== undefined && !lacksResults && !hasFailed(run)) {
    place.replaces.add(context);
    place.replacesFormer.add(former);
  } else warn(place, pointer, 'sarif.incomplete', 'this run has no results or failed: earlier findings remain');
}

interface RunReading {
  readonly tool: SarifTool;
  readonly places: SarifPlaces;
  /** Context prefix for the findings in the run. */
  readonly context: string;
  readonly pointer: string;
  readonly place: Place;
  readonly limit: ExpansionLimit;
}

function readResults(results: readonly unknown[], reading: RunReading): void {
  const { place, pointer, tool, places } = reading;
  let [suppressed, unnamed] = [0, 0];
  for (const [index, result] of results.entries()) {
    place.results += 1;
    if (!isMembers(result)) refuse(`${pointer}/results/${index}`, 'must be of type object');
    if (isSuppressed(result)) suppressed += 1;
    const finding = isFound(result) ? findingIn(result, tool, places) : undefined;
    if (finding === 'no-algorithm') unnamed += 1;
    else if (finding !== undefined) addFinding(finding, places.of(result), reading);
  }
  const about = `${pointer}/results`;
  if (unnamed > 0)
    warn(
      place,
      about,
      'sarif.no-algorithm',
      `${unnamed} results of cryptographic rules do not name an algorithm and were ignored`,
    );
  if (suppressed > 0) warn(place, about, 'sarif.suppressed', `${suppressed} suppressed results were ignored`);
}

function addFinding(
  { algorithm, ruleId }: SarifFinding,
  at: readonly SarifPlace[],
  { place, context, limit }: RunReading,
): void {
  place.taken += 1;
  const asset = place.assets.get(algorithm.name) ?? algorithmAsset(algorithm);
  place.assets.set(algorithm.name, asset);
  const about = truncate(`${context}${withoutSecretMembers(ruleId)}`, MAX_LOCATION).toWellFormed();
  limit.spend(about.length * at.length);
  for (const { location, line } of at) {
    const where = truncate(withoutSecretMembers(location), MAX_LOCATION).toWellFormed();
    asset.occurrences.push({ location: where, line, position: null, symbol: null, context: about });
  }
}

/** Reports whether an invocation of the run failed (section 3.20.14). */
function hasFailed(run: JsonMembers): boolean {
  return objectsOf(run['invocations']).some(({ executionSuccessful }) => executionSuccessful === false);
}

function warn({ warnings }: Place, pointer: string, code: string, detail: string): void {
  if (warnings.length < MAX_WARNINGS) warnings.push({ pointer, code, detail });
}

/** Returns the part of `automationDetails.id` before the last slash. The rest identifies a run in the category (section 3.17.3). */
function categoryOf(run: JsonMembers): string {
  const id = memberTextOf(membersOf(run['automationDetails'])['id']);
  const category = id.includes('/') ? id.slice(0, id.lastIndexOf('/') + 1) : id;
  return truncate(withoutSecretMembers(category), 500).toWellFormed();
}

function placeOf(run: JsonMembers): string | undefined {
  const category = categoryOf(run);
  if (category !== '') return category;
  const [first] = objectsOf(run['versionControlProvenance']);
  const repository = memberTextOf(first?.['repositoryUri']);
  return repository === '' ? undefined : withoutSecretMembers(repository);
}

function draftOf({ name, assets, replaces, replacesFormer, warnings, results, taken }: Place): Draft {
  return {
    format: 'SARIF 2.1.0',
    serialNumber: null,
    version: null,
    time: null,
    source: name,
    whole: true,
    replaces: { contexts: [...replaces], former: [...replacesFormer] },
    assets: () => assets.values(),
    received: assets.size,
    ignored: results - taken,
    rejected: [],
    repairs: [],
    warnings,
  };
}
