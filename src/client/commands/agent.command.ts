import { once } from 'node:events';
import { join } from 'node:path';
import type { ApiClient } from '../api/api-client.js';
import { type ClientCommand, type Invocation, type OptionValues, shellWord, text } from '../api/command.js';
import { EXIT, usageError } from '../api/exit-codes.js';
import { p11KitAddress } from '../agent/exec/tool-environment.js';
import { serveProgram } from '../agent/pkcs11/connection.js';
import { readAgentKeys, readKeysFor } from '../agent/signer/agent-keys.js';
import { RemoteSigner, type SignatureOrder } from '../agent/signer/remote-signer.js';
import { PrivateSocket } from '../api/private-socket.js';
import { serveSshClient } from '../agent/ssh/ssh-agent.js';
import { namesOf, noteMissingCertificates, purposeOption } from './exec.command.js';

export const agent: ClientCommand = {
  name: 'agent',
  usage:
    '[--protocol pkcs11|ssh-agent|pkcs11,ssh-agent] [--key NAME[,NAME]] [--purpose PURPOSE] [--socket PATH] [--ssh-socket PATH] [--pin]',
  meaning: 'makes keys available over PKCS #11 or SSH to all programs of this user until the agent is stopped',
  options: {
    protocol: { type: 'string' },
    key: { type: 'string', short: 'k' },
    purpose: { type: 'string' },
    socket: { type: 'string' },
    'ssh-socket': { type: 'string' },
    pin: { type: 'boolean' },
  },
  forms: {
    pkcs11: { uses: ['protocol', 'key', 'purpose', 'socket', 'pin'], when: 'with protocol pkcs11', maxArguments: 0 },
    'ssh-agent': { uses: ['protocol', 'key', 'ssh-socket'], when: 'with protocol ssh-agent', maxArguments: 0 },
    both: {
      uses: ['protocol', 'key', 'purpose', 'socket', 'pin', 'ssh-socket'],
      when: 'with protocols pkcs11 and ssh-agent',
      maxArguments: 0,
    },
  },
  formOf: (options) => {
    const [first = '', ...more] = new Set(protocolsOf(options));
    return more.length > 0 ? 'both' : first;
  },
  async run(invocation) {
    const protocols = protocolsOf(invocation.options);
    const client = await invocation.api();
    const served: Served[] = [];
    try {
      if (protocols.includes('pkcs11')) served.push(await servePkcs11(invocation, client));
      if (protocols.includes('ssh-agent')) served.push(await serveSsh(invocation, client));
      const variables = Object.fromEntries(served.map(({ variable, address }) => [variable, address]));
      const lines = served.map(({ variable, address }) => `${variable}=${shellWord(address)}; export ${variable}`);
      invocation.print(variables, lines);
      await Promise.race([once(process, 'SIGTERM'), once(process, 'SIGINT'), once(process, 'SIGHUP')]);
    } finally {
      for (const { socket, signer } of served) {
        await socket.close();
        await signer.settled();
      }
    }
    return EXIT.done;
  },
};

/** A protocol that the agent serves, with the environment variable through which programs find the socket. */
interface Served {
  readonly variable: string;
  readonly address: string;
  readonly socket: PrivateSocket;
  readonly signer: RemoteSigner;
}

const PROTOCOLS = ['pkcs11', 'ssh-agent'];

function protocolsOf(options: OptionValues): string[] {
  const given = (text(options, 'protocol') ?? 'pkcs11').split(',');
  if (given.every((one) => PROTOCOLS.includes(one))) return given;
  throw usageError(`--protocol must be one or both of ${PROTOCOLS.join(', ')}.`);
}

async function servePkcs11({ options, environment, note }: Invocation, client: ApiClient): Promise<Served> {
  const wanted = { protocol: 'pkcs11', purpose: purposeOption(options), names: namesOf(options) } as const;
  // Read the keys once before any client connects, so that a wrong name or a missing login is reported immediately.
  noteMissingCertificates(await readAgentKeys(client, { ...wanted, note }), wanted.purpose, note);
  const signer = new RemoteSigner(client, { protocol: 'pkcs11', asking: {}, note });
  const source = {
    // Reload the keys for each program, because keys are rotated and certificates are renewed.
    keys: () =>
      readAgentKeys(client, wanted).catch((error: Error) => {
        note(`sealwright: no keys: ${error.message}`);
        throw error;
      }),
    sign: (order: Omit<SignatureOrder, 'purpose'>) => signer.sign({ ...order, purpose: wanted.purpose }),
    asksForPin: options['pin'] === true,
    note,
  };
  const path = text(options, 'socket') ?? join(environment.runtimeDirectory, 'sealwright', 'pkcs11');
  const socket = await PrivateSocket.at(path, (one) => serveProgram(one, source));
  return { variable: 'P11_KIT_SERVER_ADDRESS', address: p11KitAddress(socket.path), socket, signer };
}

async function serveSsh({ options, environment, note }: Invocation, client: ApiClient): Promise<Served> {
  const names = namesOf(options);
  const keys = () => readKeysFor(client, 'ssh-agent', names);
  if ((await keys()).length === 0) throw usageError('You have no access to a key for ssh-login or ssh-signatures.');
  const signer = new RemoteSigner(client, { protocol: 'ssh-agent', asking: {}, note });
  const source = { keys, sign: (order: SignatureOrder) => signer.sign(order) };
  const path = text(options, 'ssh-socket') ?? join(environment.runtimeDirectory, 'sealwright', 'ssh');
  const socket = await PrivateSocket.at(path, (one) => serveSshClient(one, source));
  return { variable: 'SSH_AUTH_SOCK', address: socket.path, socket, signer };
}
