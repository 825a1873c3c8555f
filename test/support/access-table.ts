import type { OpenAPIObject } from '@nestjs/swagger';
import { permissionMatrix } from '../../src/access/permission-matrix.js';
import { mayDo, ROLE_NAMES, type RoleName, type Scope } from '../../src/access/scopes.js';
import { type Operation, operationsOf } from './api-document.js';
import { isForeign } from './foreign-errors.js';
import type { Answer, Service } from './service.js';

/** Outcome of a call: admitted, or refused because the caller has no credential, is not a person, or lacks a scope or a recent sign-in. */
export type Verdict = 'admitted' | 'credential' | 'person' | 'scope' | 'step-up';

interface PrincipalBase {
  readonly name: string;
  /** Process that the principal calls. */
  readonly service: Service;
  /**
   * Returns a credential, or undefined for `nobody`.
   * @param isLast whether the call ends the credential's session
   */
  credential(isLast: boolean): Promise<string | undefined> | string | undefined;
}

export type Principal =
  | (PrincipalBase & { readonly kind: 'nobody' })
  | (PrincipalBase & { readonly kind: 'person'; readonly role: RoleName; readonly isStale: boolean })
  | (PrincipalBase & { readonly kind: 'program'; readonly scopes: ReadonlySet<Scope> });

export interface AccessCell {
  /** `GET /v1/hosts` */
  readonly operation: string;
  readonly principal: string;
  readonly expected: Verdict;
  readonly found: Verdict;
  readonly status: number;
}

interface MatrixRow {
  /** Required access: `everyone`, `any credential`, `people`, or scopes. */
  readonly who: string;
  readonly isFresh: boolean;
  readonly roles: ReadonlyMap<RoleName, boolean>;
}

const TIMESTAMP_QUERY = { 'content-type': 'application/timestamp-query' };
const NOBODY = '01945f2e-0c1f-7c7e-9a53-3d0a4f7f7d11';
const AT_ONCE = 8;
/** Operations that end the caller's session. */
const LAST_CALLS = ['logout', 'signOut'];

/** Calls an operation on a nonexistent resource, with an empty body. */
export function callEmpty(service: Service, { method, path }: Operation, key: string | undefined): Promise<Answer> {
  const address = path.replaceAll(/\{\w+\}/g, NOBODY);
  if (method === 'POST' && path.startsWith('/tsa'))
    return service.call(method, address, { key, body: Buffer.from('0'), headers: TIMESTAMP_QUERY });
  return service.call(method, address, { key, body: method === 'GET' || method === 'DELETE' ? undefined : {} });
}

/** Calls every operation as every principal and compares each outcome with the document's permission matrix. */
export async function accessTable(document: OpenAPIObject, principals: readonly Principal[]): Promise<AccessCell[]> {
  const rows = matrixRows(permissionMatrix(document));
  const cells: AccessCell[] = [];
  const calls = principals.flatMap((who) => operationsOf(document).map((operation) => ({ who, operation }))).values();
  const work = async () => {
    for (const { who, operation } of calls) {
      const name = `${operation.method} ${operation.path}`;
      const key = await who.credential(LAST_CALLS.includes(operation.operationId));
      const answer = await callEmpty(who.service, operation, key);
      const expected = expectedOf(rows.get(name), who);
      cells.push({
        operation: name,
        principal: who.name,
        expected,
        found: verdictOf(operation.path, answer),
        status: answer.status,
      });
    }
  };
  await Promise.all(Array.from({ length: AT_ONCE }, work));
  return cells;
}

export const unexpectedIn = (cells: readonly AccessCell[]): AccessCell[] =>
  cells.filter(({ expected, found, status }) => expected !== found || status === 500);

/** Returns the rows of the rendered matrix, by operation. */
function matrixRows(matrix: string): Map<string, MatrixRow> {
  const rows = [...matrix.matchAll(/^\| `([A-Z]+ \/\S*)`( †)? \| ([^|]+) \| (.+) \|$/gm)];
  return new Map(
    rows.map(([, name = '', mark, who = '', cells = '']) => {
      const marks = cells.split(' | ');
      const roles = new Map(ROLE_NAMES.map((role, i) => [role, marks[i] === '✓']));
      return [name, { who, isFresh: mark !== undefined, roles }];
    }),
  );
}

function expectedOf(row: MatrixRow | undefined, principal: Principal): Verdict {
  if (row === undefined) throw new Error('the matrix has a row for every operation');
  const { who, isFresh, roles } = row;
  if (who === 'everyone') return 'admitted';
  if (principal.kind === 'nobody') return 'credential';
  if (principal.kind === 'person') {
    if (roles.get(principal.role) !== true) return 'scope';
    return isFresh && principal.isStale ? 'step-up' : 'admitted';
  }
  if (who === 'people') return 'person';
  const scopes = [...who.matchAll(/`([^`]+)`/g)].map(([, scope]) => scope as Scope);
  return scopes.every((scope) => mayDo(principal.scopes, scope)) ? 'admitted' : 'scope';
}

const CODES: Readonly<Record<string, Verdict>> = {
  'auth.missing': 'credential',
  'auth.person-needed': 'person',
  insufficient_scope: 'scope',
  'auth.step-up': 'step-up',
};
/** Error messages that identify refusals in the formats of Vault and SignServer, which have no error code. */
const TEXTS: readonly (readonly [text: RegExp, verdict: Verdict])[] = [
  [/Send "?\\?"?Authorization|X-Vault-Token|credential/, 'credential'],
  [/requires the scope/, 'scope'],
  [/recent sign-in/, 'step-up'],
];

function verdictOf(path: string, { status, body }: Answer): Verdict {
  if (status !== 401 && status !== 403) return 'admitted';
  if (!isForeign(path)) return CODES[body.code as string] ?? 'admitted';
  if (status === 401) return 'credential';
  const text = JSON.stringify(body);
  return TEXTS.find(([pattern]) => pattern.test(text))?.[1] ?? 'admitted';
}
