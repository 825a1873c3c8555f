import { isMembers, type JsonMembers, memberTextOf } from '../../model/json.js';
import {
  algorithmIn,
  isCryptographicRule,
  isCryptographicTitle,
  isWeakness,
  type NamedAlgorithm,
  namesWeakness,
  sizedBy,
} from './sarif-names.js';
import type { SarifPlaces } from './sarif-places.js';
import type { SarifRule, SarifTool } from './sarif-tool.js';
import { membersOf, objectsOf, textsOf } from './sarif-values.js';
import { truncate } from '../../../platform/text/truncate.js';

/** Relationship kinds which do not mean that a rule detects the weakness (SARIF 2.1.0 section 3.53.3). */
const OTHER_KINDS = /^(?:disjoint|incomparable|canPrecede|canFollow|willPrecede|willFollow)$/;
const CWE = /\bCWE\b|common weakness/i;
/** Matches property bag members in which scanners store the weakness, regardless of case, `_` and `-`: `cweId`, `CWE_IDs`. */
const BAG_MEMBERS = /^(?:tags|cwe[_-]?(?:ids?|s|numbers?)?)$/i;
/** Members of a rule whose text may describe the subject of the rule (sections 3.49.9 and 3.49.10). */
const TITLES = ['shortDescription', 'fullDescription'] as const;

export interface SarifFinding {
  readonly algorithm: NamedAlgorithm;
  readonly ruleId: string;
}

/**
 * isFound reports whether a result describes a problem that still exists: `kind` is `fail` (section 3.27.9), `baselineState` is not `absent` (3.27.24), and the
 * result is not suppressed (3.27.23: a result with suppressions is suppressed unless a suppression is under review or rejected).
 */
export function isFound(result: JsonMembers): boolean {
  const kind = result['kind'] ?? 'fail';
  return kind === 'fail' && result['baselineState'] !== 'absent' && !isSuppressed(result);
}

export function isSuppressed(result: JsonMembers): boolean {
  const suppressions = objectsOf(result['suppressions']);
  return suppressions.length > 0 && suppressions.every(({ status }) => (status ?? 'accepted') === 'accepted');
}

/**
 * findingIn returns the algorithm that a result of a cryptographic rule names, or `no-algorithm` if the result names no algorithm. Returns undefined for
 * results of other rules.
 */
export function findingIn(
  result: JsonMembers,
  tool: SarifTool,
  places: SarifPlaces,
): SarifFinding | 'no-algorithm' | undefined {
  const rule = tool.ruleOf(result);
  if (!isCryptographic(result, rule, tool)) return undefined;
  const said = messageText(membersOf(result['message']), rule);
  const snippets = places.snippets(result);
  const algorithm = algorithmIn([said, rule.id, memberTextOf(rule.descriptor['name']), ...snippets]);
  return algorithm === undefined ? 'no-algorithm' : { algorithm: sizedBy(snippets, algorithm), ruleId: rule.id };
}

function isCryptographic(result: JsonMembers, { id, descriptor }: SarifRule, tool: SarifTool): boolean {
  const known = memberTextOf(descriptor['id']);
  if ([id, known].some((one) => one !== '' && (isCryptographicRule(one) || namesWeakness(one)))) return true;
  const name = memberTextOf(descriptor['name']);
  const titles = [name, ...TITLES.map((member) => memberTextOf(membersOf(descriptor[member])['text']))];
  if (namesWeakness(name) || [id, ...titles].some(isCryptographicTitle)) return true;
  if ([descriptor, result].some(({ properties }) => bagNamesWeakness(properties))) return true;
  const related = objectsOf(descriptor['relationships']).filter(isAbout);
  // Some tools write a list where the standard requires a single object.
  const targets = related.flatMap(({ target }) => (Array.isArray(target) ? objectsOf(target) : [membersOf(target)]));
  const taxa = [...targets, ...objectsOf(result['taxa'])];
  return taxa.some((reference) => {
    const taxon = tool.taxonOf(reference);
    return namesWeakness(taxon.id) || (CWE.test(taxon.taxonomy) && isWeakness(taxon.id));
  });
}

/** Reports whether a relationship means that the rule detects the weakness. The default of `kinds` is `relevant`. */
function isAbout({ kinds }: JsonMembers): boolean {
  const all = textsOf(kinds ?? []);
  return all.length === 0 || all.some((kind) => !OTHER_KINDS.test(kind));
}

/** Reports whether a property bag names a cryptographic weakness. A tag must contain `CWE`; a member such as `cweId` may contain only the number. */
function bagNamesWeakness(properties: unknown): boolean {
  if (!isMembers(properties)) return false;
  return Object.entries(properties).some(([member, value]) => {
    const isNamed = member.toLowerCase() === 'tags' ? namesWeakness : isWeakness;
    return BAG_MEMBERS.test(member) && textsOf(value ?? []).some((text) => isNamed(text));
  });
}

const MAX_TEXT = 20_000;
/** MAX_FILLED is the maximum length of a message with inserted arguments, because a template can insert one argument thousands of times. */
const MAX_FILLED = 2 * MAX_TEXT;

/**
 * Returns the text of a result's message with its arguments inserted (SARIF 2.1.0 section 3.11). The text is in the message itself, or in the rule or tool
 * component, in the string with the message's `id`. Plain text takes precedence over Markdown.
 */
function messageText(message: JsonMembers, { descriptor, component }: SarifRule): string {
  const id = memberTextOf(message['id']);
  const strings = id === '' ? undefined : stringOf(descriptor['messageStrings'], id);
  const string = strings ?? (id === '' ? {} : (stringOf(component['globalMessageStrings'], id) ?? {}));
  const values = textsOf(message['arguments'] ?? []);
  const parts = [message['text'], message['markdown'], string['text'], string['markdown']].map(memberTextOf);
  return parts
    .filter((part) => part !== '')
    .map((part) => filledIn(truncate(part, MAX_TEXT), values))
    .join(' ');
}

function stringOf(strings: unknown, id: string): JsonMembers | undefined {
  const all = membersOf(strings);
  return Object.hasOwn(all, id) ? membersOf(all[id]) : undefined;
}

/** Replaces placeholders such as `{0}` and unescapes doubled braces (section 3.11.5). */
function filledIn(text: string, values: readonly string[]): string {
  if (!text.includes('{')) return text;
  let room = MAX_FILLED;
  const filled = text.replaceAll(/\{\{|\}\}|\{(\d{1,4})\}/g, (found, index: string | undefined) => {
    const inserted = index === undefined ? found.charAt(0) : (values[Number(index)] ?? found).slice(0, room);
    room -= inserted.length;
    return inserted;
  });
  return truncate(filled, MAX_FILLED);
}
