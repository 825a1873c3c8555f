import { isIP } from 'node:net';
import { PRODUCT_VERSION } from '../../../platform/instances/product-version.js';
import { asciiJson, leafFactsOf, isTampered, type StreamedLeaf } from './streamed-leaf.js';

/** The version of the schema whose attributes these are. */
const OCSF_VERSION = '1.5.0';
const OTHER = 99;

/** Classes of OCSF: API Activity of the category Application Activity, and Authentication of Identity & Access Management. */
const API_ACTIVITY = { class_uid: 6003, category_uid: 6 } as const;
const AUTHENTICATION = { class_uid: 3002, category_uid: 3 } as const;

/** Activities of Authentication, by action. */
const SIGN_IN: ReadonlyMap<string, number> = new Map(
  Object.entries({
    'auth.signed-in': 1,
    'auth.token-issued': 1,
    'session.ended': 2,
    'auth.stepped-up': OTHER,
  }),
);
/** Activities of API Activity (create, update, delete), by the last word of an action; whatever has none is `Other`. */
const CHANGES: readonly [RegExp, number][] = [
  [/\b(?:created|added|registered|invited|imported|requested|accepted|entered)$/, 1],
  [/\b(?:changed|rotated|renewed|replaced|enabled|disabled|paused|reset)$/, 3],
  [/\b(?:removed|revoked|destroyed|cancelled|dropped)$/, 4],
];
/** Success and Failure. */
const STATUS: ReadonlyMap<string, number> = new Map(Object.entries({ done: 1, refused: 2, failed: 2 }));
/** Informational, Medium, High; Critical for changes of the log that the service did not make. */
const SEVERITY: ReadonlyMap<string, number> = new Map(Object.entries({ done: 1, refused: 3, failed: 4 }));
const CRITICAL = 5;
/** Types of the object User; other actors, such as an API key, are `Other` with their own name. */
const USER_TYPES: ReadonlyMap<string, number> = new Map(
  Object.entries({ user: 1, system: 3, anonymous: 0, unknown: 0 }),
);

/**
 * A leaf as an event of OCSF (Open Cybersecurity Schema Framework), in JSON on one line. `metadata.log_name` and `metadata.sequence` name it;
 * what the schema has no place for is in `unmapped`.
 */
export function ocsfOf(leaf: StreamedLeaf): string {
  const { log, number, kind, entryId, record } = leaf;
  const { action, outcome, at, actor, target, correlation, source, detail } = leafFactsOf(leaf);
  const user = { uid: actor.id, name: actor.name, type: actor.kind, type_id: USER_TYPES.get(actor.kind) ?? OTHER };
  return asciiJson({
    ...classified(action, user, target),
    severity_id: isTampered(leaf) ? CRITICAL : (SEVERITY.get(outcome) ?? CRITICAL),
    status_id: STATUS.get(outcome) ?? 0,
    // For a deleted entry, only the log knows that it existed.
    time: at === '' ? 0 : Date.parse(at),
    message: action,
    metadata: {
      version: OCSF_VERSION,
      product: { name: 'Sealwright', vendor_name: 'Sealwright', version: PRODUCT_VERSION },
      uid: entryId,
      log_name: log,
      sequence: number,
      event_code: action,
      original_time: at,
      correlation_uid: correlation,
    },
    actor: { user },
    src_endpoint: endpointOf(source),
    unmapped: { kind, detail, record },
  });
}

/** Class and activity of an action, with what only the class has: a sign-in is about its user, and has no resources. */
function classified(action: string, user: object, target: { kind: string; id: string }): object {
  const signIn = SIGN_IN.get(action);
  const activity = signIn ?? CHANGES.find(([pattern]) => pattern.test(action))?.[1] ?? OTHER;
  const ids = signIn === undefined ? API_ACTIVITY : AUTHENTICATION;
  return {
    ...ids,
    activity_id: activity,
    ...(activity === OTHER ? { activity_name: action } : {}),
    type_uid: ids.class_uid * 100 + activity,
    ...(signIn === undefined
      ? { api: { operation: action }, resources: [{ type: target.kind, uid: target.id }] }
      : { user, service: { name: 'Sealwright' } }),
  };
}

/** Background work has no address; `ip` takes nothing but one. */
function endpointOf(source: string): object {
  if (source === '') return { svc_name: 'sealwright' };
  return isIP(source) === 0 ? { name: source } : { ip: source };
}
