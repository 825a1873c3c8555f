/** The files that .dockerignore lets into the build of the image, in the order of their names, below this checkout. */
export function contextFiles(root: string): string[];
