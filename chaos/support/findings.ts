/** Findings collects the results of a proof. Prints a line for each promise, and sets the exit code to 0 if the product keeps all promises. */
export class Findings {
  private broken = 0;
  private readonly began = performance.now();

  /** @param isTimed whether lines begin with the elapsed seconds */
  constructor(private readonly isTimed = false) {}

  readonly say = (line: string): void => {
    const seconds = ((performance.now() - this.began) / 1000).toFixed(0).padStart(5);
    process.stdout.write(`${this.isTimed ? `${seconds} s ` : ''}${line}\n`);
  };

  readonly check = (what: string, holds: boolean, detail = ''): void => {
    if (!holds) this.broken += 1;
    this.say(`${holds ? 'ok    ' : 'BROKEN'} ${what}${detail === '' ? '' : `: ${detail}`}`);
  };

  /**
   * Ends the proof with exit code 0 if all promises hold, otherwise 1.
   * @param kept last line if all promises hold
   */
  readonly conclude = (kept?: string): void => {
    if (kept !== undefined) this.say(this.broken === 0 ? kept : `${this.broken} promises are broken`);
    process.exitCode = this.broken === 0 ? 0 : 1;
  };
}
