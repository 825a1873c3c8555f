import { existsSync } from 'node:fs';
import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { ClientError, EXIT } from './exit-codes.js';

/**
 * expandPatterns expands glob patterns as a shell does: `*`, `?` and `[…]` match within a path segment, and `**` matches any number of directories. Some
 * pipelines pass patterns without a shell that expands them. The name of an existing file is never treated as a pattern.
 *
 * @throws ClientError if a pattern matches nothing
 */
export async function expandPatterns(names: readonly string[]): Promise<string[]> {
  const found: string[] = [];
  for (const name of names) {
    if (existsSync(name) || !/[*?[]/.test(name)) found.push(name);
    else found.push(...(await matching(name)));
  }
  return [...new Set(found)];
}

async function matching(pattern: string): Promise<string[]> {
  const parts = pattern.split('/');
  const isAbsolute = parts[0] === '';
  const found = await below(isAbsolute ? '/' : '', isAbsolute ? parts.slice(1) : parts);
  if (found.length > 0) return found.toSorted();
  throw new ClientError(EXIT.failed, `No file matches "${pattern}".`);
}

async function below(folder: string, [part, ...rest]: readonly string[]): Promise<string[]> {
  if (part === undefined) return [];
  const entries = await readdir(folder === '' ? '.' : folder, { withFileTypes: true }).catch(() => []);
  const found: string[] = [];
  if (part === '**') found.push(...(await below(folder, rest.length === 0 ? ['*'] : rest)));
  for (const entry of entries) {
    const path = join(folder, entry.name);
    if (part === '**' && entry.isDirectory() && !entry.name.startsWith('.'))
      found.push(...(await below(path, [part, ...rest])));
    if (part === '**' || !matches(part, entry.name)) continue;
    if (rest.length > 0) found.push(...(await below(path, rest)));
    else if (!entry.isDirectory()) found.push(path);
  }
  return [...new Set(found)];
}

/** Reports whether a name matches a part of a pattern. Names that begin with a dot match only patterns that begin with a dot. */
function matches(part: string, name: string): boolean {
  if (part === '.' || part === '..') return false;
  if (name.startsWith('.') && !part.startsWith('.')) return false;
  const source = part.replaceAll(/\[!?(?:\[[^\][]*|[^\][]+)\]|[*?]|[\\^$.|+(){}[\]]/g, (token) => {
    if (token === '*') return '[^/]*';
    if (token === '?') return '[^/]';
    if (token.length > 1) return token.replace('[!', '[^').replaceAll('\\', '\\\\');
    return `\\${token}`;
  });
  return new RegExp(`^${source}$`, 'u').test(name);
}
