import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { codesInSource } from './problem-codes.js';

const FILE = join(import.meta.dirname, '../../docs/errors.md');

interface Row {
  readonly code: string;
  readonly statuses: string[];
  readonly texts: string[];
}

const rows: Row[] = readFileSync(FILE, 'utf8')
  .split('\n')
  .filter((line) => line.startsWith('| `'))
  .map((line) => {
    const [code = '', status = '', ...texts] = line
      .split(/(?<!\\)\|/)
      .slice(1, -1)
      .map((cell) => cell.trim());
    return { code: code.replaceAll('`', ''), statuses: status.split(', '), texts };
  });

/** HTTP status by kind of Problem, as in problem.filter.ts. */
const STATUS: Record<string, string> = {
  malformed: '400',
  unauthenticated: '401',
  forbidden: '403',
  missing: '404',
  conflict: '409',
  stale: '412',
  unconditional: '428',
  misdirected: '421',
  refused: '422',
  overloaded: '429',
  unavailable: '503',
};

const used = codesInSource();

describe('docs/errors.md', () => {
  it('documents exactly the codes in the source', () => {
    const documented = rows.map(({ code }) => code);
    expect(documented.sort()).toEqual([...new Set(used.map(({ code }) => code))].sort());
  });

  it.each(rows.map((row) => [row.code, row] as const))('%s has its status and a remedy', (code, row) => {
    const kinds = used.filter((item) => item.code === code).map(({ kind }) => STATUS[kind] ?? kind);
    // `internal` is the only code whose HTTP status differs from the status of its kind of Problem.
    const statuses = code === 'internal' ? ['500'] : kinds;
    expect(row.statuses).toEqual(expect.arrayContaining(statuses));
    expect(row.texts).toHaveLength(3);
    expect(row.texts.every((text) => text === '—' || /^[A-Z`].*[.`]$/.test(text))).toBe(true);
  });
});
