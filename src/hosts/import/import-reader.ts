import { readAddressList } from './address-list.js';
import { readAnsibleIni } from './ansible-ini.js';
import { readAnsibleJson } from './ansible-tree.js';
import { readAnsibleYaml } from './ansible-yaml.js';
import { readCsvHosts } from './csv-hosts.js';
import { type ImportFormat, type ImportItem, ImportBudget } from './import-result.js';
import { HashedName, readKnownHosts } from './known-hosts.js';
import { readSshConfig } from './ssh-config.js';

/** KnownPlace is a known host. Its name and address are compared with the hashed names in a file. */
export interface KnownPlace {
  readonly name: string;
  readonly address: string;
  readonly port: number;
}

const READERS: Readonly<Record<ImportFormat, (text: string, budget: ImportBudget) => ImportItem[]>> = {
  csv: readCsvHosts,
  'known-hosts': readKnownHosts,
  'ansible-ini': readAnsibleIni,
  'ansible-yaml': readAnsibleYaml,
  'ansible-json': readAnsibleJson,
  'ssh-config': readSshConfig,
  list: readAddressList,
};

/**
 * Reads a file of hosts. ImportBudget limits the size of the result. Call this function in a worker thread with a deadline and a heap limit. Throws
 * ImportRefusal.
 */
export function readImport(format: ImportFormat, text: string, known: readonly KnownPlace[]): ImportItem[] {
  const plain = text
    .replace(/^\uFEFF/, '')
    .replaceAll('\r\n', '\n')
    .replaceAll('\r', '\n');
  return READERS[format](plain, new ImportBudget()).map((item) => withPlace(item, known));
}

/** Replaces a hashed name with the known host whose name or address matches the hash. */
function withPlace(item: ImportItem, known: readonly KnownPlace[]): ImportItem {
  const { hashed, ...rest } = item;
  if (hashed === undefined) return item;
  const hash = new HashedName(hashed);
  const found = known.find(
    ({ name, address, port }) => hash.isOf(address, port) || (name !== address && hash.isOf(name, port)),
  );
  if (found !== undefined) {
    const { name, address, port } = found;
    return { ...rest, name, fields: { name, address, port } };
  }
  const detail = 'is a hashed name that matches no known host';
  return { ...rest, faults: [...item.faults, { pointer: item.pointer, detail }] };
}
