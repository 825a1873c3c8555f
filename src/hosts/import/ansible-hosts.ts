import { readHostPlace } from '../network/host-place.port.js';
import { badItem, type ImportItem } from './import-result.js';
import { truncate } from '../../platform/text/truncate.js';
import { trimOf } from '../../platform/text/trim-end.js';

export type Vars = Readonly<Record<string, string>>;

/** InventoryHost contains the variables and groups of one host. Host variables take precedence over group variables. */
export interface InventoryHost {
  readonly pointer: string;
  readonly groups: readonly string[];
  readonly vars: Vars;
}

/** VAULTED replaces a value that is encrypted with Ansible Vault. */
export const VAULTED = '\0vault';

const SECRET = /pass(word|wd)?$|private_key|secret|token|vault/i;
const SSH = ['ssh', 'paramiko', 'smart', 'paramiko_ssh', 'ansible.builtin.ssh', 'ansible.builtin.paramiko_ssh'];
const TAKEN = ['ansible_host', 'ansible_ssh_host', 'ansible_port', 'ansible_ssh_port', 'ansible_connection'];
const MAX_LABEL = 120;
const MAX_IGNORED = 30;

/** Converts a host in an Ansible inventory to an import item. The host's groups become labels of the form `ansible/GROUP: yes`. */
export function itemOf(name: string, { pointer, groups, vars }: InventoryHost): ImportItem {
  const first = (...names: string[]) =>
    names.map((one) => vars[one]).find((value) => value !== undefined && value !== '');
  const written = first('ansible_host', 'ansible_ssh_host') ?? name;
  const connection = first('ansible_connection');
  if (connection !== undefined && !SSH.includes(connection))
    return badItem(pointer, name, `uses the connection ${truncate(connection, 40)} instead of SSH`);
  const place = readHostPlace(written);
  const port = first('ansible_port', 'ansible_ssh_port') ?? place?.port;
  if ([written, port].some((value) => String(value).includes(VAULTED)))
    return badItem(pointer, name, 'has an address or port encrypted with Ansible Vault');
  if ([written, port].some((value) => String(value).includes('{{')))
    return badItem(pointer, name, 'has an address or port that Ansible computes at run time');
  if (place === undefined) return badItem(pointer, name, `has the invalid address ${truncate(written, 60)}`);
  const labels = Object.fromEntries(
    groups
      .filter((group) => group !== 'all' && group !== 'ungrouped')
      .map((group) => [truncate(`ansible/${group}`, MAX_LABEL), 'yes']),
  );
  const fields = {
    name: inventoryNameOf(name),
    address: place.address,
    ...(port === undefined ? {} : { port: Number(port) }),
    ...(Object.keys(labels).length > 0 ? { labels } : {}),
  };
  return { pointer, name: fields.name, fields, keys: [], faults: [], ignored: ignoredOf(vars) };
}

/** Returns the text as a valid host name, with hyphens instead of the colons of IPv6 addresses. */
export function inventoryNameOf(text: string): string {
  return trimOf(text.replaceAll(':', '-'), '-');
}

/** Returns the names of variables that host records do not support. */
function ignoredOf(vars: Vars): string[] {
  const names = Object.keys(vars).filter((key) => !TAKEN.includes(key));
  const shown = names.slice(0, MAX_IGNORED).map((key) => {
    const isSecret = SECRET.test(truncate(key, 200)) || vars[key] === VAULTED;
    return isSecret ? `${truncate(key, 60)} (a secret)` : truncate(key, 60);
  });
  return names.length > MAX_IGNORED ? [...shown, `and ${names.length - MAX_IGNORED} more`] : shown;
}
