import type { INestApplicationContext } from '@nestjs/common';
import { DataSource } from 'typeorm';
import { includesKey } from '../../access/key-patterns.js';
import { PERSON_SCOPES } from '../../access/scopes.js';
import { type Finding, ok, warn } from './examinations.js';

const WHAT = 'limits of credentials';
/** Maximum number of credentials examined per table, newest first. */
const MAX_OF_A_KIND = 5000;
const newest = (table: string) => `(SELECT * FROM ${table} ORDER BY id DESC LIMIT ${MAX_OF_A_KIND}) t`;
/** Credentials with a permission or a limit to examine. A public client can have permissions that only people can use, because it acts only for people. */
const CREDENTIALS = `
  SELECT 'API key' AS kind, name, permissions && $1 AS "hasPersonScopes", signing_keys AS keys FROM ${newest('api_key')}
  WHERE revoked_at IS NULL AND expiry > now() AND (permissions && $1 OR signing_keys IS NOT NULL)
  UNION ALL
  SELECT 'OAuth client', name, secret_hash IS NOT NULL AND permissions && $1, signing_keys FROM ${newest('oauth_client')}
  WHERE revoked_at IS NULL AND (permissions && $1 OR signing_keys IS NOT NULL)
  UNION ALL
  SELECT 'workload trust', name, false, keys FROM ${newest('workload_trust')} WHERE enabled`;
/** Keys that can sign now or later. */
const KEYS = `SELECT name FROM signing_key WHERE state NOT IN ('FAILED', 'DESTROYING', 'DESTROYED')`;

interface LimitedCredential {
  readonly kind: string;
  readonly name: string;
  readonly hasPersonScopes: boolean;
  readonly keys: readonly string[] | null;
}

/**
 * examineCredentialLimits reports permissions that have no effect, and names and patterns of signing keys that no key matches: the key was destroyed, or the
 * name is misspelt.
 */
export async function examineCredentialLimits(app: INestApplicationContext): Promise<readonly Finding[]> {
  const { manager } = app.get(DataSource);
  const credentials: LimitedCredential[] = await manager.query(CREDENTIALS, [PERSON_SCOPES]);
  const keys: { name: string }[] = await manager.query(KEYS);
  const found = credentials.flatMap((one) => [...withoutEffect(one), ...withoutKey(one, keys)]);
  return found.length > 0 ? found : [ok(WHAT, 'every permission has an effect, and every limit names an existing key')];
}

function withoutEffect({ kind, name, hasPersonScopes }: LimitedCredential): Finding[] {
  if (!hasPersonScopes) return [];
  const detail = `the ${kind} "${name}" has ${PERSON_SCOPES.join(', ')}, which only people can use`;
  return [warn(WHAT, detail, 'remove the permission with PATCH (docs/access.md, "Limits of credentials")')];
}

function withoutKey({ kind, name, keys: patterns }: LimitedCredential, keys: readonly { name: string }[]): Finding[] {
  const unmatched = (patterns ?? []).filter((pattern) => !keys.some((key) => includesKey([pattern], key.name)));
  if (unmatched.length === 0) return [];
  const detail = `no signing key matches ${unmatched.join(', ')} in the limits of the ${kind} "${name}"`;
  return [warn(WHAT, detail, 'correct or remove the name (docs/access.md, "Limits of credentials")')];
}
