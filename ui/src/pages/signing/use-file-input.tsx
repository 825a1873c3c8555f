import { type ReactElement, useRef } from 'react';

interface FileInput {
  /** The browser's own field, out of sight; stays on the page as long as a file may be chosen. */
  readonly field: ReactElement;
  readonly open: () => void;
}

/** File selection; the same file can be selected again. */
export function useFileInput(name: string, onFile: (file: File) => void): FileInput {
  const input = useRef<HTMLInputElement>(null);
  const field = (
    <input
      ref={input}
      type="file"
      className="sw-hidden"
      tabIndex={-1}
      aria-label={name}
      onChange={({ target }) => {
        const file = target.files?.[0];
        if (file !== undefined) onFile(file);
        target.value = '';
      }}
    />
  );
  return { field, open: () => input.current?.click() };
}
