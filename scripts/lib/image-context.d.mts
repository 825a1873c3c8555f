/** Returns the files that .dockerignore includes in the image build context, sorted by name. */
export function contextFiles(root: string): string[];
