import { isIP } from 'node:net';
import { PRODUCT_VERSION } from '../../../platform/observability/product-version.js';
import { asciiJson, leafFactsOf, isTampered, type StreamedLeaf } from './streamed-leaf.js';

/** Version of the OCSF schema that defines these attributes. */
const OCSF_VERSION = '1.5.0';
const OTHER = 99;

/** OCSF classes: API Activity in the category Application Activity, and Authentication in Identity & Access Management. */
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
/** Activities of API Activity (create, update, delete), by the last word of an action; all other actions are `Other`. */
const CHANGES: readonly [RegExp, number][] = [
  [/\b(?:created|added|registered|invited|imported|requested|accepted|entered)$/, 1],
  [/\b(?:changed|rotated|renewed|replaced|enabled|disabled|paused|reset)$/, 3],
  [/\b(?:removed|revoked|destroyed|cancelled|dropped)$/, 4],
];
/** OCSF status IDs by outcome: Success and Failure. */
const STATUS: ReadonlyMap<string, number> = new Map(Object.entries({ done: 1, refused: 2, failed: 2 }));
/** OCSF severity IDs by outcome: Informational, Medium and High. Changes to the log outside the service are Critical. */
const SEVERITY: ReadonlyMap<string, number> = new Map(Object.entries({ done: 1, refused: 3, failed: 4 }));
const CRITICAL = 5;
/** Types of the User object; other actors, such as API keys, are `Other` with their own name. */
const USER_TYPES: ReadonlyMap<string, number> = new Map(
  Object.entries({ user: 1, system: 3, anonymous: 0, unknown: 0 }),
);

/**
 * Returns a leaf as an OCSF event (Open Cybersecurity Schema Framework), as JSON on one line. `metadata.log_name` and `metadata.sequence` identify
 * the leaf; fields that the schema does not define are in `unmapped`.
 */
export function ocsfOf(leaf: StreamedLeaf): string {
  const { log, number, kind, entryId, record } = leaf;
  const { action, outcome, at, actor, target, correlation, source, detail } = leafFactsOf(leaf);
  const user = { uid: actor.id, name: actor.name, type: actor.kind, type_id: USER_TYPES.get(actor.kind) ?? OTHER };
  return asciiJson({
    ...classified(action, user, target),
    severity_id: isTampered(leaf) ? CRITICAL : (SEVERITY.get(outcome) ?? CRITICAL),
    status_id: STATUS.get(outcome) ?? 0,
    // The time of a deleted entry is unknown: the log records only that the entry existed.
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

/** Returns the class and activity of an action, with the fields specific to the class: a sign-in is about its user and has no resources. */
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

/** Returns the source endpoint. Background work has no IP address, and `ip` accepts only IP addresses. */
function endpointOf(source: string): object {
  if (source === '') return { svc_name: 'sealwright' };
  return isIP(source) === 0 ? { name: source } : { ip: source };
}
