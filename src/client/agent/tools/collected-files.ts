import { ClientError, EXIT, usageError } from '../../api/exit-codes.js';
import { signNoted } from '../collect/batch-signing.js';
import { NotedOrders } from '../collect/noted-orders.js';
import type { ToolSurroundings } from '../exec/tool-session.js';
import type { FileTool } from './file-tool.js';
import { type FileSigning, noteFile, type SignedFile, signFile } from './signed-file.js';

export interface FileWork {
  readonly tool: FileTool;
  readonly signing: FileSigning;
}

/**
 * Signs files under one approval for each 1,000 of them. The tools run twice: first to note which digests they ask for, then, when all of
 * these are signed, to write the files. No file is changed before.
 *
 * @throws ClientError when a tool asks for another digest each time, and when not all were signed
 */
export async function signCollected(work: readonly FileWork[], surroundings: ToolSurroundings): Promise<SignedFile[]> {
  for (const { tool, signing } of work)
    if (!tool.isRepeatable)
      throw usageError(`${signing.file}: ${tool.program} writes the time into what it signs, so it is signed without --collect.`); // prettier-ignore
  const noted = new NotedOrders();
  for (const { tool, signing } of work) await noteFile(tool, signing, surroundings, noted);
  const asking = { program: 'sealwright', commandLine: `sealwright sign --collect (${work.length} files)` };
  const answered = await signNoted(surroundings.api, noted.all, { asking, note: surroundings.note });
  const failure = answered.firstFailure;
  if (failure !== undefined)
    throw new ClientError(EXIT.failed, `Not signed, ${failure.kind}: ${failure.detail} The files are as they were.`);
  const signed: SignedFile[] = [];
  for (const { tool, signing } of work)
    signed.push(await signFile(tool, signing, surroundings, (order) => answered.answer(order, surroundings.note)));
  return signed;
}
