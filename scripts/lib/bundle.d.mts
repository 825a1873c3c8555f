/** Segment of a source map (ECMA-426): the generated column and, if mapped, the source with the original line and column. */
export type Segment = readonly number[];

export declare function ownMappings(lines: Segment[][], isOwn: readonly boolean[]): Segment[][];

export declare function bundlePrograms(): Promise<void>;
export declare function inAscii(code: string): string;
