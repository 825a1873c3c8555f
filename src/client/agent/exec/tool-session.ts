import type { ApiClient } from '../../api/api-client.js';
import type { AgentKey } from '../signer/agent-keys.js';
import { type Patience, RemoteSigner, type SignatureOrder, type SignatureResult } from '../signer/remote-signer.js';
import type { AgentPurpose } from '../signer/purposes.js';
import type { AskingProgram } from '../signer/said-by-client.js';
import { serveProgram } from '../pkcs11/connection.js';
import { PrivateSocket } from '../sockets/private-socket.js';
import { toolEnvironment, withWords } from './tool-environment.js';
import { runTool, type ToolEnd } from './tool-process.js';

export interface ToolOrder {
  readonly command: string;
  readonly args: readonly string[];
  readonly keys: readonly AgentKey[];
  readonly purpose: AgentPurpose;
  /** What approvers are shown of it. */
  readonly asking: AskingProgram;
  /** Whether the token asks for a PIN; any is taken. */
  readonly asksForPin: boolean;
  /** How long people may take; without it, as long as the approval lasts. */
  readonly patience?: Patience | undefined;
  /** The caller's own name for the requests. */
  readonly reference?: string | undefined;
  /** Whether what the tool prints is kept back. */
  readonly isQuiet?: boolean;
  /** Signs in place of the service: a run that only notes what is asked for, or one for which everything was signed before. */
  readonly sign?: (order: SignatureOrder) => Promise<SignatureResult>;
  /** Hears how each order of the tool ended. */
  onEnd?(result: SignatureResult): void;
}

export interface ToolSurroundings {
  readonly api: ApiClient;
  readonly environment: NodeJS.ProcessEnv;
  /** Where the directory of the socket is made. */
  readonly runtimeDirectory: string;
  note(line: string): void;
}

/** Runs a tool with a socket of its own, behind which it finds these keys. The socket is there as long as the tool. */
export async function runWithKeys(
  { command, args, keys, purpose, asking, asksForPin, patience, reference, isQuiet, sign, onEnd }: ToolOrder,
  { api, environment, runtimeDirectory, note }: ToolSurroundings,
): Promise<ToolEnd> {
  const signer = new RemoteSigner(api, { protocol: 'pkcs11', asking, patience, reference, note });
  const signed = sign ?? ((order: SignatureOrder) => signer.sign(order));
  const source = {
    keys: () => Promise.resolve(keys),
    sign: async (order: Omit<SignatureOrder, 'purpose'>) => {
      const result = await signed({ ...order, purpose });
      onEnd?.(result);
      return result;
    },
    asksForPin,
    note,
  };
  const socket = await PrivateSocket.temporary(runtimeDirectory, 'pkcs11', (one) => serveProgram(one, source));
  try {
    const { variables, words } = await toolEnvironment(environment, socket);
    return await runTool(command, withWords(args, words), { env: variables, isQuiet: isQuiet === true, note });
  } finally {
    await socket.close();
    await signer.settled();
  }
}
