import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.DataInputStream;
import java.io.DataOutputStream;
import java.io.EOFException;
import java.io.PrintStream;
import java.lang.reflect.InvocationTargetException;
import java.net.Socket;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import org.apache.kafka.common.utils.Exit;

/** Runs main methods one after the other, as they are asked for over a socket, and tells what each has printed. */
public class JavaPrograms {
    private static final ByteArrayOutputStream OUT = new ByteArrayOutputStream();
    private static final ByteArrayOutputStream ERR = new ByteArrayOutputStream();

    /** With which code the program wanted to end the process first; it may catch what that throws here, and end it again. */
    private static Integer ended;

    public static void main(String[] arguments) throws Exception {
        System.setOut(new PrintStream(OUT, true));  // once and for all: Scala's programs remember the first one
        System.setErr(new PrintStream(ERR, true));
        Exit.setExitProcedure((code, message) -> end(code));
        Exit.setHaltProcedure((code, message) -> end(code));
        try (Socket socket = new Socket("127.0.0.1", Integer.parseInt(arguments[0]))) {
            var asked = new DataInputStream(socket.getInputStream());
            var told = new DataOutputStream(socket.getOutputStream());
            while (true) {
                String[] words = new String[asked.readInt()];
                for (int index = 0; index < words.length; index++) {
                    words[index] = asked.readUTF();
                }
                int code = run(words);
                told.writeInt(code);
                tell(told, OUT);
                tell(told, ERR);
                told.flush();
            }
        } catch (EOFException nobodyAsksAnyMore) {
            Runtime.getRuntime().halt(0);
        }
    }

    private static void end(int code) {
        if (ended == null) {
            ended = code;
        }
        throw new Error("ended");
    }

    /** A first word that begins with < is the program's standard input; then come the class and its arguments. */
    private static int run(String[] words) {
        ended = null;
        boolean fed = words[0].startsWith("<");
        System.setIn(new ByteArrayInputStream((fed ? words[0].substring(1) : "").getBytes(StandardCharsets.UTF_8)));
        int first = fed ? 1 : 0;
        String[] arguments = Arrays.copyOfRange(words, first + 1, words.length);
        try {
            Class.forName(words[first]).getMethod("main", String[].class).invoke(null, (Object) arguments);
            return ended == null ? 0 : ended;
        } catch (InvocationTargetException error) {
            if (ended != null) {
                return ended;
            }
            error.getCause().printStackTrace();
        } catch (ReflectiveOperationException error) {
            error.printStackTrace();
        }
        return 1;
    }

    private static void tell(DataOutputStream told, ByteArrayOutputStream printed) throws Exception {
        told.writeInt(printed.size());
        printed.writeTo(told);
        printed.reset();
    }
}
