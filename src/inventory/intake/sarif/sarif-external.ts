import type { JsonMembers } from '../../model/json.js';
import type { Remark } from '../../model/document.js';
import { CHARACTERS_PER_REFERENCE, type ExpansionLimit } from './expansion-limit.js';
import { isSameGuid, membersOf, objectsOf } from './sarif-values.js';

/** Members of a run that are used and may be stored externally (SARIF 2.1.0 section 3.14.2). */
const LISTS = [
  'artifacts',
  'logicalLocations',
  'threadFlowLocations',
  'results',
  'taxonomies',
  'invocations',
  'webRequests',
] as const;

export interface WholeRun {
  readonly run: JsonMembers;
  /** Whether results of the run are in a file that was not sent. */
  readonly lacksResults: boolean;
}

/**
 * withExternalProperties returns a run completed with the `inlineExternalProperties` of the log (sections 3.13.6, 3.15 and 4). External files are not
 * fetched; `warnings` receives a remark for each member stored in an external file.
 *
 * @throws Problem 422 `document.too-costly` if references repeat too many objects
 */
export function withExternalProperties(
  given: JsonMembers,
  log: JsonMembers,
  { pointer, warnings, limit }: { pointer: string; warnings: Remark[]; limit: ExpansionLimit },
): WholeRun {
  const references = membersOf(given['externalPropertyFileReferences']);
  const inline = objectsOf(log['inlineExternalProperties']);
  const runGuid = membersOf(given['automationDetails'])['guid'];
  const run: JsonMembers = { ...given };
  let lacksResults = false;
  const at = (member: string) => `${pointer}/externalPropertyFileReferences/${member}`;
  const found = (reference: JsonMembers, member: string) =>
    inline.find(
      (properties) =>
        isSameGuid(properties['guid'], reference['guid']) ||
        (reference['guid'] === undefined &&
          isSameGuid(properties['runGuid'], runGuid) &&
          properties[member] !== undefined),
    );
  const listOf = (reference: JsonMembers, member: string) => {
    const list = found(reference, member)?.[member];
    if (list === undefined) unresolved(member);
    if (!Array.isArray(list)) return [];
    limit.spend(CHARACTERS_PER_REFERENCE * (1 + list.length));
    return objectsOf(list);
  };
  const unresolved = (member: string) => {
    if (member === 'results') lacksResults = true;
    if (warnings.some(({ pointer: known }) => known === at(member))) return;
    warnings.push({
      pointer: at(member),
      code: 'sarif.external',
      detail: `the ${member} of this run are in another file, which is not read: send a log that contains them`,
    });
  };
  for (const member of LISTS) {
    const parts = objectsOf(references[member]);
    if (parts.length === 0) continue;
    run[member] = [...objectsOf(run[member]), ...parts.flatMap((reference) => listOf(reference, member))];
  }
  const tool = { ...membersOf(run['tool']) };
  const driver = references['driver'] === undefined ? undefined : found(membersOf(references['driver']), 'driver');
  if (references['driver'] !== undefined && driver === undefined) unresolved('driver');
  if (driver !== undefined) tool['driver'] = { ...membersOf(tool['driver']), ...membersOf(driver['driver']) };
  const extensions = objectsOf(references['extensions']);
  if (extensions.length > 0)
    tool['extensions'] = [
      ...objectsOf(tool['extensions']),
      ...extensions.flatMap((reference) => listOf(reference, 'extensions')),
    ];
  if (driver !== undefined || extensions.length > 0) run['tool'] = tool;
  return { run, lacksResults };
}
