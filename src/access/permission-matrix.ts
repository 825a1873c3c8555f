import type { OpenAPIObject } from '@nestjs/swagger';
import { mayDo, ROLE_NAMES, type RoleName, type Scope, scopesOf } from './scopes.js';

const METHODS = ['get', 'post', 'put', 'patch', 'delete'] as const;

interface Operation {
  readonly tags?: readonly string[];
  readonly security?: readonly unknown[];
  readonly 'x-required-scopes'?: readonly Scope[];
  readonly 'x-person'?: boolean;
  readonly 'x-step-up'?: boolean;
}

/** The permission matrix as Markdown: every operation of the OpenAPI document against every role. */
export function permissionMatrix({ paths }: Pick<OpenAPIObject, 'paths'>): string {
  const areas = new Map<string, string[]>();
  for (const [path, item] of Object.entries(paths)) {
    for (const method of METHODS) {
      const operation = item[method] as Operation | undefined;
      if (operation === undefined) continue;
      const area = operation.tags?.[0] ?? 'Other';
      areas.set(area, [...(areas.get(area) ?? []), rowOf(`${method.toUpperCase()} ${path}`, operation)]);
    }
  }
  return [HEAD, ...Array.from(areas, ([area, rows]) => tableOf(area, rows))].join('\n');
}

const HEAD = `# Who may call what

Written by \`npm run openapi\` from the operations and the roles. ✓ may, · may not. An API key or an OAuth client may do what its scopes
say, as long as its owner may. **Everyone**: without a credential. **People**: who signed in themselves, about their own account.
† asks a person to have shown who they are within five minutes.
`;

function tableOf(area: string, rows: readonly string[]): string {
  const columns = ['Operation', 'Scope', ...ROLE_NAMES];
  const rule = columns.map(() => '---');
  return [`## ${area}`, '', line(columns), line(rule), ...rows, ''].join('\n');
}

function rowOf(name: string, operation: Operation): string {
  const mark = operation['x-step-up'] === true ? ' †' : '';
  return line([`\`${name}\`${mark}`, ...rightsOf(operation)]);
}

function rightsOf({ security, 'x-required-scopes': scopes = [], 'x-person': person }: Operation): string[] {
  const all = ROLE_NAMES.map(() => '✓');
  if (security?.length === 0) return ['everyone', ...all];
  if (scopes.length === 0) return [person === true ? 'people' : 'any credential', ...all];
  const names = scopes.map((scope) => `\`${scope}\``).join(' and ');
  const may = (role: RoleName) => scopes.every((scope) => mayDo(scopesOf([role]), scope));
  return [names, ...ROLE_NAMES.map((role) => (may(role) ? '✓' : '·'))];
}

const line = (cells: readonly string[]): string => `| ${cells.join(' | ')} |`;
