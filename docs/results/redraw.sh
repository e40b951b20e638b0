# Make the tables and figures of this folder again from the files of runs in data, without training:
# `sh docs/results/redraw.sh` in the repository's folder. Where results/corpora has the references,
# the runs that kept their translations are tested for significant differences again.
set -e
folder=docs/results
runs=$folder/data/runs
scratch=$(mktemp -d)
trap 'rm -r "$scratch"' EXIT

# compare REPRODUCTION TABLE CORPUS SPLIT LANGUAGE METRIC...
compare() {
    significance=$folder/data/significance/$1.$2.json corpus=$3 split=$4 language=$5
    shift 5
    references=results/corpora/$corpus/raw/$split.$language
    test -e "$references" || return 0
    translations= names=
    for compressed in $(ls $runs/"$corpus"/*/*/"$split".translations.txt.gz | grep -v +); do
        run=$(dirname "$compressed")
        row=$(basename "$(dirname "$run")")
        path=$scratch/$row.$(basename "$run").$split
        gzip -dc "$compressed" >"$path"
        translations="$translations $path" names="$names $row"
    done
    python src/compare.py --translations $translations --names $names --references "$references" \
        --target-language "$language" --metrics "$@" --output "$significance"
}

# typeset REPRODUCTION TABLE
typeset() {
    significance=$folder/data/significance/$1.$2.json
    test -e "$significance" || significance=
    python src/typeset.py --catalog config --reproduction "config/$1.yaml" --table "$2" \
        --runs $runs ${significance:+--significance "$significance"} \
        --markdown "$folder/tables/$1.$2.md" --csv "$scratch/csv" --html "$scratch/html" \
        --latex "$scratch/tex"
}

# plot REPRODUCTION TABLE FIGURE...
plot() {
    reproduction=$1 table=$2
    shift 2
    python src/plot.py --catalog config --reproduction "config/$reproduction.yaml" \
        --table "$table" --runs $runs --figures "$@" --output "$scratch"
    for figure; do
        cp "$scratch/$table.$figure.png" "$folder/figures/$reproduction.$table.$figure.png"
    done
}

mkdir -p $folder/tables $folder/figures $folder/data/significance
compare multi30k-families families multi30k-en-de test_2016_flickr de \
    lowercased_tokenized_bleu chrf ter bleu
compare multi30k-families dev multi30k-en-de dev de lowercased_tokenized_bleu
for table in families dev best; do
    typeset multi30k-families $table
done
plot multi30k-families families learning-curves bleu-by-length cost
for table in table3 positions embeddings-and-activations subwords decoder-only norms; do
    typeset multi30k-en-de $table
done
plot multi30k-en-de positions learning-curves
plot multi30k-en-de norms learning-curves
compare tatoeba-en-de families tatoeba-en-de test de bleu chrf ter
typeset tatoeba-en-de families
plot tatoeba-en-de families learning-curves
compare demo-families families demo test de bleu chrf ter
compare demo-families dev demo dev de bleu
for table in families dev gnmt; do
    typeset demo-families $table
done
plot demo-families families learning-curves
