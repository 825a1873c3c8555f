import { type ReactElement, useRef } from 'react';

interface FileInput {
  /** The hidden native input. It stays on the page while a file can be selected. */
  readonly field: ReactElement;
  readonly open: () => void;
}

/** useFileInput lets the person select a file, including the same file again. */
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
