import type { INestApplicationContext } from '@nestjs/common';
import { DataSource } from 'typeorm';
import { uuidOf } from '../../platform/database/new-id.js';
import { mayDo, type Scope } from '../../access/scopes.js';
import { rightsOf } from '../../auth/rights/credential-rights.js';
import { type Finding, ok, warn } from './examinations.js';

/** Settings that stay in effect after the user who changed them has left, by table, with the scope required to change the settings. */
const THINGS: Readonly<Record<string, { readonly kind: string; readonly scope: Scope }>> = {
  identity_provider: { kind: 'identity provider', scope: 'settings:write' },
  webhook_endpoint: { kind: 'webhook', scope: 'webhooks:write' },
  alert_rule: { kind: 'alert rule', scope: 'alerts:write' },
  workload_issuer: { kind: 'workload issuer', scope: 'settings:write' },
  ssh_login_rule: { kind: 'SSH login rule', scope: 'ssh-ca:issue' },
  host_authority: { kind: 'host authority', scope: 'hosts:write' },
  approver_group: { kind: 'approver group', scope: 'approvals:write' },
};
/** Maximum number of rows examined per table, newest first. */
const MAX_OF_A_KIND = 5000;

/**
 * Selects each row with its last change by a user or client. A change by an API key or OAuth client, or in a user's session in a client, is attributed to
 * the owner and to every user who was shown the secret.
 */
const LAST_CHANGES = Object.keys(THINGS)
  .map(
    (table) => `SELECT '${table}' AS "table", t.name, e.actor_name AS actor, e.actor_kind AS "actorKind",
    array_remove(ARRAY[coalesce(k.owner_id::text, CASE WHEN e.actor_kind <> 'user' THEN c.owner_id::text END, e.actor_id), CASE e.actor_kind WHEN 'user' THEN c.owner_id::text END], NULL) || k.behind || k.disclosed_to || c.behind || c.disclosed_to AS people
    FROM (SELECT id, name FROM ${table} ORDER BY id DESC LIMIT ${MAX_OF_A_KIND}) t
    CROSS JOIN LATERAL (SELECT a.actor_kind, a.actor_id, a.actor_name, a.detail FROM audit_entry a
      WHERE a.target_id = t.id::text AND a.outcome = 'done' AND a.actor_kind IN ('user', 'api-key', 'oauth-client')
        AND a.action ~ '[.](created|changed|added|secret-rotated|keys-changed)$' ORDER BY a.at DESC LIMIT 1) e
    LEFT JOIN api_key k ON k.id = CASE e.actor_kind WHEN 'api-key' THEN e.actor_id::uuid END
    LEFT JOIN oauth_client c ON c.id = CASE e.actor_kind WHEN 'oauth-client' THEN e.actor_id::uuid WHEN 'user' THEN ${uuidOf(`(e.detail ->> 'client')`)} END`,
  )
  .join(' UNION ALL ');

interface LastChange {
  readonly table: string;
  readonly name: string;
  readonly actor: string;
  readonly actorKind: string;
  /** IDs of the users who could have made the change. */
  readonly people: readonly string[];
}

/**
 * examineLeftBehind reports settings whose last change was made by a user who no longer has the required right. For example, the user's webhooks still receive
 * events. Schedules and rotation policies are excluded, because both pause automatically.
 */
export async function examineLeftBehind(app: INestApplicationContext): Promise<readonly Finding[]> {
  const what = 'left behind';
  const { manager } = app.get(DataSource);
  const changes: LastChange[] = await manager.query(LAST_CHANGES);
  const mayNow = new Map<string, ReadonlySet<Scope>>();
  for (const person of new Set(changes.flatMap(({ people }) => people)))
    mayNow.set(person, (await rightsOf(manager, person)) ?? new Set());
  const cut = Object.keys(THINGS).filter(
    (table) => changes.filter((one) => one.table === table).length >= MAX_OF_A_KIND,
  );
  const notExamined = cut.map((table) =>
    warn(
      what,
      `only the newest ${MAX_OF_A_KIND} rows of ${table} were checked`,
      'remove what is not needed, then run doctor again',
    ),
  );
  const left = changes.filter(({ table, people }) => {
    const scope = THINGS[table]?.scope;
    return scope !== undefined && people.some((person) => !mayDo(mayNow.get(person) ?? new Set(), scope));
  });
  if (left.length === 0)
    return cut.length > 0
      ? notExamined
      : [ok(what, 'everything was configured by users who still have the required rights')];
  const found = left.map(({ table, name, actor, actorKind, people }) => {
    const whose = people.length > 1 ? 'using a credential shown to a user who' : 'who';
    const detail = `the ${THINGS[table]?.kind} "${name}" was last changed by ${labelOf(actorKind, actor)}, ${whose} no longer has the right`;
    return warn(what, detail, 'remove it, or save it again to take it over (docs/access.md, "When somebody leaves")');
  });
  return [...found, ...notExamined];
}

/** Returns the name of an actor. The name of an API key or OAuth client is preceded by the kind, because the name may be a person's name. */
function labelOf(kind: string, name: string): string {
  if (kind === 'user') return name;
  return `the ${kind === 'api-key' ? 'API key' : 'OAuth client'} "${name}"`;
}
