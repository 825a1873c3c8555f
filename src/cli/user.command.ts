import { parseArgs } from 'node:util';
import { ROLE_NAMES, type RoleName } from '../access/scopes.js';
import { isPlainAddress } from '../auth/model/plain-address.js';
import { OperatorAccounts } from '../auth/people/users/operator-accounts.service.js';
import { Problem } from '../platform/errors/problem.js';
import { type AdminCommand, AdminError, ADMIN_EXIT, print } from './command.js';
import { inService } from './in-service.js';
import { readNewPassword } from './new-password.js';

/** user creates and changes user accounts. */
export const user: AdminCommand = {
  name: 'user',
  usage: [
    'create ADDRESS --role ROLE [--role ROLE …] [--link]',
    'reset-password ADDRESS [--link]',
    'reset-factor ADDRESS',
    'grant ADDRESS ROLE [ROLE …]',
    'disable ADDRESS',
  ],
  summary:
    'Manages users when nobody can sign in: creates, disables, resets passwords and second factors, grants roles',
  details: [
    `Roles: ${ROLE_NAMES.join(', ')}.`,
    'create and reset-password prompt twice for the password, or read one line from standard input if it is not a',
    'terminal. Passwords are never passed as arguments.',
    '',
    '  --link           prints a one-time link, valid for one hour, for the user to set a password',
    '',
    'reset-password   sets a password, even for a user without one, and ends all sessions of the user',
    'reset-factor     removes authenticators, passkeys and recovery codes; the password alone is then sufficient',
    'grant            adds roles and enables the account; for users of an identity provider, the provider sets the roles',
    '                 again at the next sign-in',
    'disable          disables the account, even of the last administrator, and ends all sessions, keys, clients, links',
    '                 and invitations of the user',
    '',
    'Each command writes an audit entry with the actor "operator (command line)".',
  ],
  async run(args) {
    const { values, positionals } = parseArgs({ args, options: OPTIONS, allowPositionals: true });
    const [name = '', address = '', ...roles] = positionals;
    const action = ACTIONS[name];
    // Accounts created by earlier versions may have email addresses that are not allowed for new accounts.
    if (action === undefined || !(name === 'create' ? isPlainAddress(address) : address.includes('@')))
      throw usage(`expected ${Object.keys(ACTIONS).join(', ')}, followed by an address`);
    const given = { address, link: values.link, roles: rolesOf([...(values.role ?? []), ...roles]) };
    if (NEEDS_ROLE.has(name) !== given.roles.length > 0)
      throw usage(NEEDS_ROLE.has(name) ? 'at least one role is required' : 'does not accept a role');
    const password = ASKS_PASSWORD.has(name) && !given.link ? await readNewPassword() : undefined;
    await inService((app) => action(app.get(OperatorAccounts), { ...given, password })).catch((error: unknown) => {
      throw error instanceof Problem ? new AdminError(error.message) : error;
    });
  },
};

const OPTIONS = {
  role: { type: 'string', multiple: true },
  link: { type: 'boolean', default: false },
} as const;

interface Given {
  readonly address: string;
  readonly roles: readonly RoleName[];
  readonly password: string | undefined;
}

const NEEDS_ROLE = new Set(['create', 'grant']);
const ASKS_PASSWORD = new Set(['create', 'reset-password']);

const ACTIONS: Readonly<Record<string, (accounts: OperatorAccounts, given: Given) => Promise<void>>> = {
  create: async (accounts, { address, roles, password }) => {
    const { email } = await accounts.create(address, roles, password);
    print(`Created ${email} with the roles ${roles.join(', ')}.`);
    if (password === undefined)
      print(`One-time link to set the password, valid for one hour:`, await accounts.passwordLink(email));
  },
  'reset-password': async (accounts, { address, password }) => {
    if (password === undefined) {
      print(`One-time link to set the password, valid for one hour:`, await accounts.passwordLink(address));
      return;
    }
    await accounts.setPassword(address, password);
    print(`Set the password of ${address} and ended all sessions of the user.`);
  },
  'reset-factor': async (accounts, { address }) => {
    await accounts.resetFactors(address);
    print(`Removed the second factors of ${address}.`);
  },
  grant: async (accounts, { address, roles }) => {
    const changed = await accounts.grant(address, roles);
    print(`${changed.email} is enabled and has the roles ${changed.roles.join(', ')}.`);
  },
  disable: async (accounts, { address }) => {
    const { email } = await accounts.disable(address);
    print(`Disabled ${email} and ended all credentials of the user.`);
  },
};

function rolesOf(words: readonly string[]): RoleName[] {
  const unknown = words.find((word) => !ROLE_NAMES.includes(word as RoleName));
  if (unknown !== undefined) throw usage(`unknown role "${unknown}"; roles are ${ROLE_NAMES.join(', ')}`);
  return [...new Set(words)] as RoleName[];
}

function usage(what: string): AdminError {
  return new AdminError(`user: ${what}. See: sealwright-admin help user`, ADMIN_EXIT.usage);
}
