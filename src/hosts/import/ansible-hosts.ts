import { badItem, type ImportItem } from './import-item.js';
import { truncate } from '../../platform/text/truncate.js';

export type Vars = Readonly<Record<string, string>>;

/** What an inventory says of one host, its groups' variables below its own. */
export interface InventoryHost {
  readonly pointer: string;
  readonly groups: readonly string[];
  readonly vars: Vars;
}

const SECRET = /pass(word|wd)?$|private_key|secret|token|vault/i;
const MOST_LABEL = 120;

/** A host of an Ansible inventory as an item; its groups become labels `ansible/GROUP: yes`. */
export function itemOf(name: string, { pointer, groups, vars }: InventoryHost): ImportItem {
  const first = (...names: string[]) =>
    names.map((one) => vars[one]).find((value) => value !== undefined && value !== '');
  const address = first('ansible_host', 'ansible_ssh_host') ?? name;
  const port = first('ansible_port', 'ansible_ssh_port');
  const connection = first('ansible_connection');
  if (connection !== undefined && !['ssh', 'paramiko', 'smart', 'paramiko_ssh'].includes(connection))
    return badItem(pointer, name, `is reached by ${truncate(connection, 40)}, not by SSH`);
  if ([address, port].some((value) => value?.includes('{{')))
    return badItem(pointer, name, 'has an address or port that Ansible puts together when it runs');
  const labels = Object.fromEntries(
    groups
      .filter((group) => group !== 'all' && group !== 'ungrouped')
      .map((group) => [truncate(`ansible/${group}`, MOST_LABEL), 'yes']),
  );
  const taken = ['ansible_host', 'ansible_ssh_host', 'ansible_port', 'ansible_ssh_port', 'ansible_connection'];
  const ignored = Object.keys(vars)
    .filter((key) => !taken.includes(key))
    .map((key) => (SECRET.test(key) ? `${truncate(key, 60)} (a secret)` : truncate(key, 60)));
  const fields = {
    name,
    address,
    ...(port === undefined ? {} : { port: Number(port) }),
    ...(Object.keys(labels).length > 0 ? { labels } : {}),
  };
  return { pointer, name, fields, keys: [], faults: [], ignored };
}
