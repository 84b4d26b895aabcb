import { createRegistry, type DescFile, type DescService, toBinary } from "@bufbuild/protobuf";
import { FileDescriptorProtoSchema } from "@bufbuild/protobuf/wkt";

/** Descriptors of everything that is served, as reflection hands them out. */
export interface DescriptorIndex {
  /** Full names, sorted. */
  readonly serviceNames: readonly string[];
  /** Each answers with serialized `FileDescriptorProto`s: the file asked for, then all that it imports. */
  readonly byFilename: (name: string) => readonly Uint8Array[] | undefined;
  /** Of a service, method, message, enum or extension, by its full name. */
  readonly bySymbol: (name: string) => readonly Uint8Array[] | undefined;
  readonly byExtension: (extendee: string, number: number) => readonly Uint8Array[] | undefined;
  /** Field numbers of the known extensions of a message; undefined for a message that is not known. */
  readonly extensionNumbers: (extendee: string) => readonly number[] | undefined;
}

/** The file itself, then everything it imports, each once. */
const withImports = (file: DescFile, found: Set<DescFile> = new Set()): Set<DescFile> => {
  found.add(file);
  for (const imported of file.dependencies) if (!found.has(imported)) withImports(imported, found);
  return found;
};

/** `more`: files that no service imports. */
export const createDescriptorIndex = (services: readonly DescService[], more: readonly DescFile[]): DescriptorIndex => {
  const files = new Set<DescFile>();
  for (const file of [...services.map((service) => service.file), ...more]) withImports(file, files);
  const all = [...files];
  const serialized = new Map(all.map((file) => [file, toBinary(FileDescriptorProtoSchema, file.proto)]));
  const answer = (file: DescFile | undefined): readonly Uint8Array[] | undefined =>
    file && [...withImports(file)].flatMap((each) => serialized.get(each) ?? []);

  const names = new Map(all.map((file) => [file.proto.name, file]));
  const registry = createRegistry(...all);
  const fileOfMethod = (symbol: string): DescFile | undefined => {
    const end = symbol.lastIndexOf(".");
    const service = registry.getService(symbol.slice(0, end));
    return service?.methods.some(({ name }) => name === symbol.slice(end + 1)) ? service.file : undefined;
  };
  return {
    serviceNames: services.map((service) => service.typeName).sort(),
    byFilename: (name) => answer(names.get(name)),
    bySymbol: (name) => answer(registry.get(name)?.file ?? fileOfMethod(name)),
    byExtension: (extendee, number) => {
      const message = registry.getMessage(extendee);
      return answer(message && registry.getExtensionFor(message, number)?.file);
    },
    extensionNumbers: (extendee) =>
      registry.getMessage(extendee) &&
      [...registry].flatMap((type) => (type.kind === "extension" && type.extendee.typeName === extendee ? type.number : [])),
  };
};
