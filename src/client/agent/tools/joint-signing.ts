import { basename } from 'node:path';
import { ClientError, EXIT } from '../../api/exit-codes.js';
import { signNoted } from '../collect/batch-signing.js';
import type { DetachedFile } from '../collect/detached-file.js';
import { AnsweredOrders, type JointOrder, NotedOrders } from '../collect/noted-orders.js';
import type { ToolSurroundings } from '../exec/tool-session.js';
import type { SignatureOrder, SignatureResult } from '../signer/remote-signer.js';
import type { FileTool } from './file-tool.js';
import { type FileSigning, noteFile, type SignedFile, signFile } from './signed-file.js';

export interface FileWork {
  readonly tool: FileTool;
  readonly signing: FileSigning;
}

export interface JointWork {
  /** Files that get an embedded signature from a tool. */
  readonly embedded: readonly FileWork[];
  /** Files that get a detached signature with `key`. */
  readonly detached: readonly DetachedFile[];
  readonly key: JointOrder['key'];
  readonly reference?: string | undefined;
  readonly waitSeconds?: number | undefined;
}

export interface JointlySigned {
  readonly embedded: readonly SignedFile[];
  /** Paths of the detached signatures. */
  readonly detached: readonly string[];
}

/** Maximum number of tools that wait at the same time. Each tool is a separate process. */
const MAX_WAITING_TOOLS = 32;

/**
 * signTogether signs many files with one approval per 1,000 files. A tool that requests the same digest each time runs twice: first to record the request, and
 * again after everything is signed, to write the file. A tool that includes the time in the signed data runs once and waits for the other files before it gets
 * its signature. No file changes before all files are signed.
 *
 * @throws ClientError if a tool fails or not all files were signed; (pending) if the approval was not decided in time
 */
export async function signTogether(work: JointWork, surroundings: ToolSurroundings): Promise<JointlySigned> {
  const repeatable = work.embedded.filter(({ tool }) => tool.isRepeatable);
  const timed = work.embedded.filter(({ tool }) => !tool.isRepeatable);
  if (timed.length > MAX_WAITING_TOOLS)
    throw new ClientError(EXIT.usage, `${timed.length} of these files use tools that include the signing time in the signature. A single command can sign at most ${MAX_WAITING_TOOLS} of them. Sign the rest with another command.`); // prettier-ignore
  const answered = new AnsweredOrders();
  const purpose = work.embedded.length > 0 ? ('code-signing' as const) : undefined;
  const orderOf = ({ facts }: DetachedFile): JointOrder => ({ ...facts, key: work.key, purpose });
  const waiting = new WaitingTools(timed, surroundings);
  const stop = endingWith(timed.length > 0);
  try {
    const others = [...work.detached.map(orderOf), ...(await waiting.asked())];
    for (let round = 1; round <= roundsOf(repeatable); round += 1) {
      const noted = await notedIn(round, repeatable, answered, surroundings);
      if (round === 1) for (const order of others) noted.add(order);
      await assertSigned(noted, answered, work, { ...surroundings, signal: stop.signal });
    }
    const embedded = await waiting.signed(answered);
    for (const { tool, signing } of repeatable)
      embedded.push(await signFile(tool, signing, surroundings, (order) => answered.answer(order, surroundings.note)));
    const detached: string[] = [];
    for (const file of work.detached) detached.push(...(await file.write(answered.of(orderOf(file)))));
    return { embedded: inOrder(work, embedded), detached };
  } catch (error) {
    await waiting.abandon();
    throw error;
  } finally {
    stop.release();
  }
}

/** Returns the number of batches needed. A tool requests its second signature only after receiving the first. */
function roundsOf(repeatable: readonly FileWork[]): number {
  return Math.max(1, ...repeatable.map(({ tool }) => tool.signatures ?? 1));
}

/** Runs the tools to record the requests of the given round. */
async function notedIn(
  round: number,
  repeatable: readonly FileWork[],
  answered: AnsweredOrders,
  surroundings: ToolSurroundings,
): Promise<NotedOrders> {
  const noted = new NotedOrders();
  const next = (order: SignatureOrder, fileName: string): Promise<SignatureResult> =>
    answered.has(order) ? Promise.resolve(answered.of(order)) : noted.note(order, fileName);
  for (const { tool, signing } of repeatable)
    if ((tool.signatures ?? 1) >= round) await noteFile(tool, signing, surroundings, next);
  return noted;
}

async function assertSigned(
  noted: NotedOrders,
  answered: AnsweredOrders,
  { embedded, detached, reference, waitSeconds }: JointWork,
  { api, note, signal }: ToolSurroundings & { readonly signal: AbortSignal },
): Promise<void> {
  const count = embedded.length + detached.length;
  const asking = { program: 'sealwright', commandLine: `sealwright sign (${count} files)` };
  const isResumable = embedded.every(({ tool }) => tool.isRepeatable);
  const patience = waitSeconds === undefined ? undefined : { seconds: waitSeconds, isResumable };
  await signNoted(api, noted.all, { asking, reference, patience, note, signal }, answered);
  const failure = answered.firstFailure;
  if (failure === undefined) return;
  throw new ClientError(EXIT.failed, `Signing failed (${failure.kind}): ${failure.detail} No files were changed.`);
}

function inOrder({ embedded }: JointWork, signed: readonly SignedFile[]): SignedFile[] {
  return embedded.flatMap(({ signing }) => signed.filter(({ file }) => file === signing.out));
}

/** Running tools that wait for a signature. A second run of these tools would request a different digest. */
class WaitingTools {
  private readonly orders: JointOrder[] = [];
  private readonly runs: Promise<SignedFile>[] = [];
  /** Resolves the waiting orders with their results, or with undefined if not all orders were signed. */
  private answer: (answered: AnsweredOrders | undefined) => void = () => undefined;
  private readonly answers = new Promise<AnsweredOrders | undefined>((resolve) => (this.answer = resolve));

  constructor(
    private readonly work: readonly FileWork[],
    private readonly surroundings: ToolSurroundings,
  ) {}

  /** Starts the tools one after the other and returns their orders. Throws if a tool fails before it requests a signature. */
  async asked(): Promise<readonly JointOrder[]> {
    for (const { tool, signing } of this.work) {
      await new Promise<void>((hasAsked, hasFailed) => {
        const run = signFile(tool, signing, this.surroundings, (order) => {
          this.orders.push({ ...order, fileName: basename(signing.file) });
          hasAsked();
          return this.answerTo(order);
        });
        run.then(() => hasAsked(), hasFailed);
        this.runs.push(run);
      });
    }
    return this.orders;
  }

  async signed(answered: AnsweredOrders): Promise<SignedFile[]> {
    this.answer(answered);
    return Promise.all(this.runs);
  }

  /** Ends the waiting tools without signatures. */
  async abandon(): Promise<void> {
    this.answer(undefined);
    await Promise.allSettled(this.runs);
  }

  private async answerTo(order: SignatureOrder): Promise<SignatureResult> {
    const answered = await this.answers;
    return (
      answered?.answer(order, this.surroundings.note) ?? { kind: 'withdrawn', detail: 'Not all files were signed.' }
    );
  }
}

/**
 * Returns a signal that is aborted when the program is terminated while tools wait. The requests are then withdrawn, because no later run could repeat them.
 */
function endingWith(hasWaitingTools: boolean): { readonly signal: AbortSignal; release(): void } {
  const ended = new AbortController();
  const signals = hasWaitingTools ? (['SIGINT', 'SIGTERM', 'SIGHUP'] as const) : [];
  const end = (): void => ended.abort(new Error('the program was terminated'));
  for (const signal of signals) process.on(signal, end);
  return {
    signal: ended.signal,
    release: () => {
      for (const signal of signals) process.off(signal, end);
    },
  };
}
