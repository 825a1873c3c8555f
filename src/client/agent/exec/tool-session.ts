import type { ApiClient } from '../../api/api-client.js';
import type { AgentKey } from '../signer/agent-keys.js';
import { type Patience, RemoteSigner, type SignatureOrder, type SignatureResult } from '../signer/remote-signer.js';
import type { AgentPurpose } from '../signer/purposes.js';
import type { AskingProgram } from '../signer/agent-metadata.js';
import { serveProgram } from '../pkcs11/connection.js';
import { PrivateSocket } from '../../api/private-socket.js';
import { toolEnvironment, withWords } from './tool-environment.js';
import { runTool, type ToolEnd } from './tool-process.js';

export interface ToolOrder {
  readonly command: string;
  readonly args: readonly string[];
  readonly keys: readonly AgentKey[];
  readonly purpose: AgentPurpose;
  /** Information about the tool for approvers. */
  readonly asking: AskingProgram;
  /** Whether the token requires a PIN. Any PIN is accepted. */
  readonly asksForPin: boolean;
  /** Time to wait for a decision. Default: until the approval expires. */
  readonly patience?: Patience | undefined;
  /** Caller-defined reference for the requests. */
  readonly reference?: string | undefined;
  /** Whether the tool's output is captured instead of printed. */
  readonly isQuiet?: boolean;
  /** Signs instead of the service, in a run that only records requests or in which everything is already signed. */
  readonly sign?: (order: SignatureOrder) => Promise<SignatureResult>;
  /** Called with the result of each signature that the tool requests. */
  onEnd?(result: SignatureResult): void;
}

export interface ToolSurroundings {
  readonly api: ApiClient;
  readonly environment: NodeJS.ProcessEnv;
  /** Directory in which the socket's directory is created. */
  readonly runtimeDirectory: string;
  note(line: string): void;
}

/** Runs a tool with a private socket that offers the keys. The socket exists while the tool runs. */
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
