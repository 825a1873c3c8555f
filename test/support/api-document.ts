import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';

const ROOT = join(import.meta.dirname, '../..');
const FILE = join(ROOT, 'docs/openapi.json');
const METHODS = ['get', 'post', 'put', 'patch', 'delete'] as const;

export interface Operation {
  readonly method: string;
  /** Path as in the document: `/api/v1/sign/requests/{id}`. */
  readonly path: string;
  readonly operationId: string;
  readonly summary: string;
  /** Required scopes. Undefined for public operations; [] if any credential is sufficient. */
  readonly scopes: string[] | undefined;
  readonly isPublic: boolean;
  // oxlint-disable-next-line typescript/no-explicit-any -- tests read arbitrary parts of the document
  readonly raw: any;
}

/** Returns docs/openapi.json. */
// oxlint-disable-next-line typescript/no-explicit-any -- tests read arbitrary parts of the document
export function shippedDocument(): any {
  return JSON.parse(readFileSync(FILE, 'utf8'));
}

// oxlint-disable-next-line typescript/no-explicit-any -- tests read arbitrary parts of the document
export function operationsOf(document: any): Operation[] {
  return Object.entries<Record<string, Operation['raw']>>(document.paths).flatMap(([path, item]) =>
    METHODS.filter((method) => item[method] !== undefined).map((method) => {
      const raw = item[method];
      return {
        method: method.toUpperCase(),
        path,
        operationId: raw.operationId,
        summary: raw.summary,
        scopes: raw['x-required-scopes'],
        isPublic: raw.security.length === 0,
        raw,
      };
    }),
  );
}

export interface Route {
  readonly method: string;
  readonly path: string;
  /** Class and method of the handler. */
  readonly handler: string;
  readonly access?: { readonly kind: string; readonly scopes?: readonly string[] };
  /** Whether the operation requires a recent authentication (`@Fresh`). */
  readonly isFresh: boolean;
}

/** Returns every route that the built application registers, documented or not. */
export function routesOfBuild(): Route[] {
  const script = join(ROOT, 'test/support/list-routes.mjs');
  return JSON.parse(execFileSync(process.execPath, [script], { cwd: ROOT, encoding: 'utf8' }));
}
