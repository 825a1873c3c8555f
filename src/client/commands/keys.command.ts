import { type ClientCommand, text } from '../api/command.js';
import { EXIT } from '../api/exit-codes.js';
import { listSigningKeys } from '../api/signing-keys.js';

const FILTERS = ['name', 'state', 'purpose', 'type'] as const;

export const keys: ClientCommand = {
  name: 'keys',
  usage: '[--name NAME|START*] [--state STATE] [--purpose PURPOSE] [--type TYPE]',
  meaning: 'lists the signing keys',
  options: {
    name: { type: 'string' },
    state: { type: 'string' },
    purpose: { type: 'string' },
    type: { type: 'string' },
  },
  forms: { list: { uses: FILTERS, when: 'when keys are listed', maxArguments: 0 } },
  async run({ api, options, print }) {
    const filter = Object.fromEntries(
      FILTERS.flatMap((name) => {
        const value = text(options, name);
        return value === undefined ? [] : [[name, value]];
      }),
    );
    const all = await listSigningKeys(await api(), filter);
    const rows = all.map(({ name, type, purpose, version, state, id, certificateExpiresAt }) => [
      name,
      type,
      purpose,
      `v${version}`,
      state,
      id,
      endOf(certificateExpiresAt),
    ]);
    print(all, table(rows));
    return EXIT.done;
  },
};

/** Formats the expiry date of a certificate for users. */
function endOf(expiresAt: string | undefined): string {
  if (expiresAt === undefined) return '';
  return `certificate ${new Date(expiresAt) <= new Date() ? 'expired on' : 'until'} ${expiresAt.slice(0, 10)}`;
}

function table(rows: readonly string[][]): string[] {
  const widths = (rows[0] ?? []).map((_, column) => Math.max(...rows.map((row) => row[column]?.length ?? 0)));
  return rows.map((row) =>
    row
      .map((cell, column) => cell.padEnd(widths[column] ?? 0))
      .join('  ')
      .trimEnd(),
  );
}
