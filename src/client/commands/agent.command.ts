import { once } from 'node:events';
import { join } from 'node:path';
import { type ClientCommand, text } from '../api/command.js';
import { EXIT } from '../api/exit-codes.js';
import { serveProgram } from '../agent/pkcs11/connection.js';
import { readAgentKeys } from '../agent/signer/agent-keys.js';
import { RemoteSigner, type SignatureOrder } from '../agent/signer/remote-signer.js';
import { PrivateSocket } from '../agent/sockets/private-socket.js';
import { namesOf, purposeOf } from './exec.command.js';

export const agent: ClientCommand = {
  name: 'agent',
  usage: '[--key NAME[,NAME]] [--purpose PURPOSE] [--socket PATH] [--pin]',
  meaning: 'offers keys by PKCS #11 to all programs of this user until it is ended',
  options: {
    key: { type: 'string', short: 'k' },
    purpose: { type: 'string' },
    socket: { type: 'string' },
    pin: { type: 'boolean' },
  },
  async run({ options, environment, api, note, print }) {
    const wanted = { protocol: 'pkcs11', purpose: purposeOf(options), names: namesOf(options) } as const;
    const client = await api();
    // Read once before anybody connects, so that a wrong name or a missing login is told here.
    await readAgentKeys(client, wanted);
    const signer = new RemoteSigner(client, { protocol: 'pkcs11', asking: {}, note });
    const source = {
      // Read anew for each program: keys are rotated, and certificates renewed.
      keys: () => readAgentKeys(client, wanted),
      sign: (order: Omit<SignatureOrder, 'purpose'>) => signer.sign({ ...order, purpose: wanted.purpose }),
      asksForPin: options['pin'] === true,
    };
    const path = text(options, 'socket') ?? join(environment.runtimeDirectory, 'sealwright', 'pkcs11');
    const socket = await PrivateSocket.at(path, (one) => serveProgram(one, source));
    const address = `unix:path=${path}`;
    print({ P11_KIT_SERVER_ADDRESS: address }, [`P11_KIT_SERVER_ADDRESS='${address}'; export P11_KIT_SERVER_ADDRESS`]);
    try {
      await Promise.race([once(process, 'SIGTERM'), once(process, 'SIGINT'), once(process, 'SIGHUP')]);
    } finally {
      await socket.close();
      await signer.settled();
    }
    return EXIT.done;
  },
};
