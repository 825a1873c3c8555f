import type { ClientCommand } from '../api/command.js';
import { EXIT } from '../api/exit-codes.js';

interface Key {
  readonly id: string;
  readonly name: string;
  readonly type: string;
  readonly purpose: string;
  readonly version: number;
  readonly state: string;
}

export const keys: ClientCommand = {
  name: 'keys',
  usage: '',
  meaning: 'lists the signing keys',
  options: {},
  async run({ api, print }) {
    const client = await api();
    const all: Key[] = [];
    for (let cursor: string | null = ''; cursor !== null;) {
      const after: string = cursor === '' ? '' : `&cursor=${encodeURIComponent(cursor)}`;
      const page: { items: Key[]; nextCursor: string | null } = await client.call(
        'GET',
        `/api/v1/signing-keys?limit=200${after}`,
      );
      all.push(...page.items);
      cursor = page.nextCursor;
    }
    const rows = all.map(({ name, type, purpose, version, state, id }) => [
      name,
      type,
      purpose,
      `v${version}`,
      state,
      id,
    ]);
    print(all, table(rows));
    return EXIT.done;
  },
};

function table(rows: readonly string[][]): string[] {
  const widths = (rows[0] ?? []).map((_, column) => Math.max(...rows.map((row) => row[column]?.length ?? 0)));
  return rows.map((row) =>
    row
      .map((cell, column) => cell.padEnd(widths[column] ?? 0))
      .join('  ')
      .trimEnd(),
  );
}
